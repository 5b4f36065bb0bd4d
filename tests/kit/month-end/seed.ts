import type pg from "pg";

/** Accounts of cell 1, each with 1 to 5 databases with different histories last month; nothing is random. */
export async function seedMonth(pool: pg.Pool, accounts: number): Promise<void> {
  const month = "date_trunc('month', now(), 'UTC') - interval '1 month'";
  await pool.query(`
    insert into regions (id, label, country) values ('here', 'Here', 'de'), ('there', 'There', 'ca');
    insert into plans (id, label, class, memory_mb, disk_mb, vcpus)
      select plan, plan, 'standard', 1024, 10240, 1 from unnest(array['small', 'medium', 'large']) plan;
    insert into prices (plan, valid_from, hourly_micros, monthly_micros, suspended_hourly_micros, suspended_monthly_micros)
      select plan, valid_from, hourly * raise, hourly * raise * 667, hourly / 5, hourly * 133
      from (values ('small', 22500), ('medium', 45000), ('large', 90000)) plans (plan, hourly),
        (values ('2000-01-01T00:00:00Z'::timestamptz, 1), (${month} + interval '14 days 5 hours', 2)) versions (valid_from, raise)
      on conflict (plan, valid_from) do update
        set hourly_micros = excluded.hourly_micros, monthly_micros = excluded.monthly_micros,
          suspended_hourly_micros = excluded.suspended_hourly_micros,
          suspended_monthly_micros = excluded.suspended_monthly_micros;
    insert into tax_rates (country, state, name, valid_from, rate_ppm) values
      ('DE', '', 'VAT', '2000-01-01T00:00:00Z', 190000),
      ('CA', '', 'GST', '2000-01-01T00:00:00Z', 50000), ('CA', 'QC', 'QST', '2000-01-01T00:00:00Z', 99750);
    insert into accounts (id, company, email, max_databases, max_nodes, max_memory_mb, max_disk_mb, created_at,
        invoiced_through, country, state)
      select n * 1024 + 1, 'c' || n, n || '@month.test', 9, 9, 9, 9, ${month} - interval '20 days', ${month},
        (array['DE', 'CA', 'US'])[n % 3 + 1], case when n % 3 = 1 then 'QC' else '' end
      from generate_series(1, ${accounts}) n;
    insert into billing_runs (month, first_account, last_account, created_at, finished_at)
      select (${month} - interval '1 month') at time zone 'UTC', min(id), max(id), now(), now() from accounts;
    insert into credits (account_id, description, summary, credit_micros, monthly_cap_micros, granted_at)
      select id, 'd', 'Welcome', 50000000, 10000000, ${month} from accounts where id / 1024 % 7 = 0;
    insert into adjustments (account_id, at, label, amount_micros)
      select id, ${month} + interval '3 days', 'Goodwill', -1230000 from accounts where id / 1024 % 50 = 0`);
  // The history of each kind, in days since the month began, for databases created before or in the month.
  await pool.query(`
    with life (kind, sequence, day, state, plan) as (values
      (0, 1, -10.0, 'running', 'small'),
      (1, 1, 3.4, 'running', 'medium'),
      (2, 1, -2.0, 'running', 'small'), (2, 2, 5.5, 'running', 'medium'), (2, 3, 20.25, 'running', 'large'),
      (3, 1, -9.0, 'running', 'large'), (3, 2, 2.1, 'suspended', 'large'), (3, 3, 17.9, 'running', 'large'),
      (4, 1, 1.7, 'running', 'medium'), (4, 2, 9.3, 'ended', 'medium'),
      (5, 1, 0.0, 'running', 'small'), (5, 2, 0.01, 'suspended', 'small'), (5, 3, 0.02, 'running', 'small'),
      (5, 4, 6.0, 'running', 'large'), (5, 5, 6.5, 'running', 'small'), (5, 6, 12.0, 'suspended', 'small'),
      (5, 7, 25.0, 'running', 'small'), (5, 8, 27.999, 'ended', 'small'))
    insert into usage_facts (account_id, resource_type, resource_id, sequence, at, state, plan, nodes, region, label)
    select accounts.id, 'database', (id / 1024 * 8 + each) * 1024 + 1, sequence,
      ${month} + (day + case when day < 0 then 0 else id / 1024 % 11 / 24.0 end) * interval '1 day',
      life.state, plan, case when each = 3 then 3 else 1 end, case when each % 2 = 0 then 'here' else 'there' end, 'db-' || each
    from accounts, generate_series(1, 5) each, life
    where each <= id / 1024 % 5 + 1 and kind = (id / 1024 * 7 + each * 3) % 6`);
  await pool.query("analyze");
}
