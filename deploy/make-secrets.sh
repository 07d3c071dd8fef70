#!/bin/sh
# Write a file of secrets for each role into a folder that only its owner can open, with new passwords.
#
#   sh deploy/make-secrets.sh /etc/sankofa              (systemd)
#   sh deploy/make-secrets.sh deploy/env postgres usage (compose: names of its services)
#
# A file that exists is never replaced: SANKOFA_WITHHELD_KEY must not change once data was published.
set -eu
folder=$1 postgres=${2:-127.0.0.1} usage=${3:-127.0.0.1}
umask 077
mkdir -p "$folder"
if [ -n "$(ls "$folder")" ]; then
  echo "make-secrets: $folder has files already; to make new ones, move them away" >&2
  exit 1
fi
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
owner=$(random) reader=$(random) runs=$(random) counters=$(random)

cat > "$folder/postgres.env" <<END
POSTGRES_PASSWORD=$(random)
CONTROL_OWNER_PASSWORD=$owner
CONTROL_READER_PASSWORD=$reader
RUNS_PASSWORD=$runs
END
cat > "$folder/usage.env" <<END
USAGE_PASSWORD=$counters
END
for surface in rest mcp; do
  cat > "$folder/$surface.env" <<END
SANKOFA_CONTROL=postgresql://control_reader:$reader@$postgres:5432/control
SANKOFA_USAGE=redis://surface:$counters@$usage:6379/0
END
done
cat > "$folder/page.env" <<END
SANKOFA_RUNS=postgresql+psycopg2://runs:$runs@$postgres:5432/runs
END
cat > "$folder/pipeline.env" <<END
SANKOFA_RUNS=postgresql+psycopg2://runs:$runs@$postgres:5432/runs
SANKOFA_WITHHELD_KEY=$(random)
SANKOFA_CONTACT=
END
# Beside that of the pipeline: for the commands of an operator.
cat > "$folder/operator.env" <<END
SANKOFA_CONTROL=postgresql://control_owner:$owner@$postgres:5432/control
SANKOFA_USAGE=redis://surface:$counters@$usage:6379/0
END
echo "written to $folder; set SANKOFA_CONTACT in pipeline.env, and back up SANKOFA_WITHHELD_KEY"
