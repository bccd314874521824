-- What an assignment may be, whoever writes it: names of roles as policies have
-- them, and subjects as those who are assigned are looked up by.

-- A policy's "*" means every role, and csv_link is what a download by link has; neither
-- is anybody's to hold.
alter table role_assignment add constraint role_assignment_role_name
  check (role ~ '^[A-Za-z][A-Za-z0-9_.-]{0,99}$' and role <> 'csv_link');

-- A role that only looks like a shipped one would pass the rules on those by.
alter table role_assignment add constraint role_assignment_role_is_not_a_double
  check (lower(role) not in ('viewer', 'curator', 'admin', 'pii_reader') or role = lower(role));

alter table role_assignment add constraint role_assignment_subject_is_folded
  check (kind not in ('person', 'domain') or subject = lower(subject));

-- Only somebody who was given a role by email can claim it.
alter table role_assignment add constraint role_assignment_claim_is_a_persons
  check (person_id is null or kind = 'person');
