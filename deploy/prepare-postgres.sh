#!/bin/sh
# Make an empty database cluster in the folder $1, unless there is one. PGPASSWORD becomes the
# password of its user `sankofa`. Databases: `sankofa` for builds, `dagster` for Dagster's runs.
set -eu
[ -s "$1/PG_VERSION" ] && exit
password=$(mktemp)
trap 'rm -f "$password"' EXIT
printf '%s\n' "$PGPASSWORD" > "$password"
initdb --pgdata="$1" --username=sankofa --pwfile="$password" --auth=scram-sha-256 --encoding=utf8 --no-locale
for database in sankofa dagster; do
  echo "CREATE DATABASE $database;" | postgres --single -D "$1" postgres
done
