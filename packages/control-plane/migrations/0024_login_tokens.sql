-- The program that was signed in with this personal token, such as moorage-cli: that program may revoke it. Null: the
-- user made the token by the API or on the security page.
alter table tokens add column issued_to text;
