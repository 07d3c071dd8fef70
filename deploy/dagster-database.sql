-- The container of PostgreSQL makes the database `sankofa` by itself; this one is for Dagster's runs.
CREATE DATABASE dagster;
