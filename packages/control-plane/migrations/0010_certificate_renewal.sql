-- The certificate before the newest. Valid until the newest is used, because the response that carried it can be lost.
alter table hosts add column previous_certificate_sha256 bytea unique;
