-- What the api and the worker may do with the tables of the job queue, which the
-- queue's own migrations made before these. A version of the queue that brings
-- another table brings another file like this one.

grant select, insert, update, delete on river_job to api_rw, worker_rw;
grant usage, select on sequence river_job_id_seq to api_rw, worker_rw;

grant select, insert, update, delete on river_leader to api_rw, worker_rw;

grant select, insert, update, delete on river_notification to api_rw, worker_rw;
grant usage, select on sequence river_notification_id_seq to api_rw, worker_rw;

grant select, insert, update, delete on river_queue to api_rw, worker_rw;

grant select on river_migration to api_rw, worker_rw;

-- Called by an index of river_job whenever a row is written.
revoke all on function river_job_state_in_bitmask from public;
grant execute on function river_job_state_in_bitmask to api_rw, worker_rw;
