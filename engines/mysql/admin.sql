-- The tenant's admin and all of its rights. Idempotent: `prepare` runs it, and the agent runs it on servers that exist.
-- Locked, with a password that nobody knows, until the agent sets the real one.
CREATE USER IF NOT EXISTS 'dbadmin'@'%' IDENTIFIED WITH caching_sha2_password BY RANDOM PASSWORD ACCOUNT LOCK;
-- Left out on purpose: SUPER, FILE, SHUTDOWN, RELOAD (RESET BINARY LOGS), CREATE TABLESPACE; and of the dynamic ones
-- everything that changes the server, its replication or other sessions. A dynamic right that is added here is added to
-- packages/agent/src/restore/require-tenant-rights.ts too.
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, SHOW DATABASES, CREATE TEMPORARY TABLES,
  LOCK TABLES, EXECUTE, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER, PROCESS,
  REPLICATION CLIENT, REPLICATION SLAVE, CREATE USER, CREATE ROLE, DROP ROLE
  ON *.* TO 'dbadmin'@'%' WITH GRANT OPTION;
-- SET_ANY_DEFINER does not reach accounts with SYSTEM_USER, and all of ours have it.
GRANT APPLICATION_PASSWORD_ADMIN, FLUSH_OPTIMIZER_COSTS, FLUSH_PRIVILEGES, FLUSH_STATUS, FLUSH_TABLES,
  FLUSH_USER_RESOURCES, ROLE_ADMIN, SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER, SHOW_ROUTINE, XA_RECOVER_ADMIN
  ON *.* TO 'dbadmin'@'%' WITH GRANT OPTION;
-- A row in a grant table is a grant: the admin reads `mysql` and `sys`, and writes neither.
REVOKE INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, CREATE TEMPORARY TABLES, LOCK TABLES,
  CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER, EXECUTE ON mysql.* FROM 'dbadmin'@'%';
REVOKE INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, CREATE TEMPORARY TABLES, LOCK TABLES,
  CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER ON sys.* FROM 'dbadmin'@'%';
