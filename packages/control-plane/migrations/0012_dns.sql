-- Databases whose DNS records must be published or withdrawn: few at any time. Same predicate as the job's query.
create index databases_by_due_dns on databases (id) where (deleted_at is null) = (dns_published_at is null);
