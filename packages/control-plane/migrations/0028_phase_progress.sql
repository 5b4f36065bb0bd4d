-- The phase's share of its operation's progress, in percent of the whole. Null: the phase does not change the progress.
alter table desired_phases add column percent_from integer, add column percent_to integer;
