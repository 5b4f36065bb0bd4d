-- Those whose names are to be published or withdrawn: few at any time. The predicate is the one of the chore.
create index databases_by_due_dns on databases (id) where (deleted_at is null) = (dns_published_at is null);
