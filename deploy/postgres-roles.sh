#!/bin/sh
# Make the databases of a deployment and a user for each purpose, as the superuser of PostgreSQL:
# `control` (API keys, actions of operators), which its owner changes and the servers read, and
# `runs` (Dagster's storage). The container runs it once, at its first start. The passwords come from the
# environment: postgres.env of make-secrets.sh.
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname postgres <<END
CREATE ROLE control_owner LOGIN PASSWORD '$CONTROL_OWNER_PASSWORD';
CREATE ROLE control_reader LOGIN PASSWORD '$CONTROL_READER_PASSWORD';
CREATE ROLE runs LOGIN PASSWORD '$RUNS_PASSWORD';
CREATE DATABASE control OWNER control_owner;
CREATE DATABASE runs OWNER runs;
REVOKE CONNECT ON DATABASE control, runs, postgres FROM PUBLIC;
GRANT CONNECT ON DATABASE control TO control_reader;
END
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname control <<END
ALTER SCHEMA public OWNER TO control_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO control_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE control_owner GRANT SELECT ON TABLES TO control_reader;
END
