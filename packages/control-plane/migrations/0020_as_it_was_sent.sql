-- Values as the client sent them, which it compares with what it reads: a fork's source and time, a token's scopes.
alter table databases
  add column fork_source bigint,
  add column fork_restore_time timestamptz;

-- Earlier forks: a client that finds no source in one would replace it, and its data.
update databases
set fork_source = timelines.database_id, fork_restore_time = (operations.input #>> '{fork,until}')::timestamptz
from operations join timelines on timelines.id = (operations.input #>> '{fork,timeline}')::uuid
where operations.kind = 'forkDatabase' and operations.account_id = databases.account_id
  and operations.entity_id = databases.id and databases.deleted_at is null;

alter table tokens add column scopes_as_sent text;
