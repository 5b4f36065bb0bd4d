-- The part of its operation's progress that a phase is, in percent of the whole. Null: the phase does not move it.
alter table desired_phases add column percent_from integer, add column percent_to integer;
