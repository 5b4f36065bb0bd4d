-- The program that was signed in with this personal token, such as moorage-cli, and that may revoke it. Null: the user
-- created the token with the API or on the security page.
alter table tokens add column issued_to text;
