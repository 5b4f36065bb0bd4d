-- Procedures for what a tenant needs a right for that would also do harm in other hands. Idempotent: `prepare` runs it,
-- and the agent runs it on servers whose baseline (the last line) is older. See ADR 0021.
--
-- They run as an account that nobody can log in to, and that tenants can neither alter nor name as a definer.
CREATE USER IF NOT EXISTS 'moorage_tools'@'localhost' IDENTIFIED WITH caching_sha2_password BY RANDOM PASSWORD ACCOUNT LOCK;
GRANT SYSTEM_USER, CONNECTION_ADMIN, SESSION_VARIABLES_ADMIN ON *.* TO 'moorage_tools'@'localhost';
GRANT SELECT ON performance_schema.threads TO 'moorage_tools'@'localhost';
GRANT EXECUTE ON sys.* TO 'moorage_tools'@'localhost';

DROP PROCEDURE IF EXISTS sys.require_tenant_session;
CREATE DEFINER = 'moorage_tools'@'localhost' PROCEDURE sys.require_tenant_session(IN session_id BIGINT UNSIGNED)
  COMMENT 'Fails unless the session belongs to one of the tenant''s accounts.' READS SQL DATA
BEGIN
  DECLARE is_ours BOOLEAN;
  DECLARE refusal VARCHAR(128);
  SELECT processlist_user IS NULL OR processlist_user LIKE 'moorage\_%'
      OR processlist_user IN ('system user', 'event_scheduler', 'mysql.session', 'mysql.sys', 'mysql.infoschema')
      OR (processlist_user = 'root' AND processlist_host = 'localhost')
    INTO is_ours FROM performance_schema.threads WHERE processlist_id = session_id;
  IF is_ours IS NULL THEN
    SET refusal = CONCAT('There is no session ', session_id, '; SHOW PROCESSLIST lists those that there are.');
    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1094, MESSAGE_TEXT = refusal;
  END IF;
  IF is_ours THEN
    SET refusal = CONCAT('Session ', session_id, ' belongs to the service; only sessions of your own accounts can be ended.');
    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1095, MESSAGE_TEXT = refusal;
  END IF;
END;

DROP PROCEDURE IF EXISTS sys.kill_session;
CREATE DEFINER = 'moorage_tools'@'localhost' PROCEDURE sys.kill_session(IN session_id BIGINT UNSIGNED)
  COMMENT 'Ends a session of one of your accounts, as KILL does.' READS SQL DATA
BEGIN
  CALL sys.require_tenant_session(session_id);
  KILL CONNECTION session_id;
END;

DROP PROCEDURE IF EXISTS sys.kill_query;
CREATE DEFINER = 'moorage_tools'@'localhost' PROCEDURE sys.kill_query(IN session_id BIGINT UNSIGNED)
  COMMENT 'Ends the statement that a session of one of your accounts executes, as KILL QUERY does.' READS SQL DATA
BEGIN
  CALL sys.require_tenant_session(session_id);
  KILL QUERY session_id;
END;

-- A member of a cluster never starts its replication by itself: that is how it is known here.
DROP PROCEDURE IF EXISTS sys.generate_invisible_primary_keys;
CREATE DEFINER = 'moorage_tools'@'localhost' PROCEDURE sys.generate_invisible_primary_keys(IN wanted BOOLEAN)
  COMMENT 'Whether tables that this session creates without a primary key get an invisible one.' NO SQL
BEGIN
  IF NOT wanted AND @@GLOBAL.skip_replica_start THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'A database of three nodes needs a primary key in every table.';
  END IF;
  SET SESSION sql_generate_invisible_primary_key = wanted;
END;

-- Last, because the agent takes it for the sign that all of the above is there.
ALTER USER 'moorage_tools'@'localhost' COMMENT 'baseline 2';
