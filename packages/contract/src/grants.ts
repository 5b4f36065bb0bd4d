import { z } from "zod";

const Permission = z.enum(["read_only", "read_write"], { error: "read_only, read_write or null" }).nullable();
const flag = z.boolean({ error: "true or false" });

/** The names that clients of this family know. Grants for products that we do not run have no effect. */
const flags = {
  cancel_account: flag,
  longview_subscription: flag,
  add_databases: flag,
  add_domains: flag,
  add_firewalls: flag,
  add_images: flag,
  add_linodes: flag,
  add_longview: flag,
  add_nodebalancers: flag,
  add_stackscripts: flag,
  add_volumes: flag,
  add_vpcs: flag,
} as const;
export type GrantFlag = keyof typeof flags;
export const grantFlags = Object.keys(flags) as GrantFlag[];

/** Only the lists of our own products have entries; the others are for clients that expect them. */
const lists = <List extends z.ZodType>(list: List) =>
  z.object({
    database: list,
    domain: list,
    firewall: list,
    image: list,
    linode: list,
    longview: list,
    nodebalancer: list,
    stackscript: list,
    volume: list,
    vpc: list,
  });

export const EntityGrant = z.object({ id: z.int(), label: z.string(), permissions: Permission });
export type EntityGrant = z.output<typeof EntityGrant>;

export const Grants = lists(z.array(EntityGrant)).extend({
  global: z.object({ account_access: Permission, ...flags }),
});
export type Grants = z.output<typeof Grants>;
export type GrantList = Exclude<keyof Grants, "global">;
export const grantLists = Object.keys(lists(z.array(EntityGrant)).shape) as GrantList[];

const MOST_GRANTS = 1000;
const TOO_MANY = "at most 1,000 entries in one request; a list changes only the objects that it names";
const ID = "the id of something of this account, a whole number";
const NewEntityGrant = z.object({ id: z.int({ error: ID }).positive(ID), permissions: Permission });

/** Fields that are present are changed, the rest stays. */
export const GrantsChange = lists(z.array(NewEntityGrant).max(MOST_GRANTS, TOO_MANY))
  .partial()
  .extend({
    global: z
      .object({ account_access: Permission, ...flags })
      .partial()
      .optional(),
  });
export type GrantsChange = z.output<typeof GrantsChange>;
