#!/bin/sh
# Start Redis or Valkey ($1: redis-server or valkey-server) for the usage counters, in the folder $2,
# listening on the address $3. USAGE_PASSWORD is the password of its only user, who may do to keys
# that begin with sankofa:usage: what counting needs, and nothing else.
set -eu
umask 077
cat > "$2/users.acl" <<END
user default off
user surface on >$USAGE_PASSWORD resetchannels ~sankofa:usage:* -@all +auth +hello +ping +select +evalsha +eval +script|load +get +set +incr +decr +pttl +pexpire +pexpireat +scan
END
# Not in the environment of the server, nor in its arguments, which every user of a machine can read.
unset USAGE_PASSWORD
exec "$1" --port "${4:-6379}" --bind "$3" --dir "$2" --aclfile "$2/users.acl" \
  --save '' --appendonly yes --appendfsync everysec --maxmemory 512mb --maxmemory-policy noeviction
