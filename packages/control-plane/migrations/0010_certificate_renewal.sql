-- The certificate before the newest. It counts until the newest is used, because the answer that carried it can be lost.
alter table hosts add column previous_certificate_sha256 bytea unique;
