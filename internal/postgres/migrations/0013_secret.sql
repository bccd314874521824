-- The worker reseals its own copies of secrets when its identity is rotated, and
-- sees no others.
alter table secret_ciphertext enable row level security;
create policy api_all on secret_ciphertext to api_rw using (true) with check (true);
create policy worker_own on secret_ciphertext to worker_rw using (reader = 'worker') with check (reader = 'worker');
grant update (recipient, ciphertext) on secret_ciphertext to worker_rw;
