import { env } from "../kit/stack-env.ts";
import type { ClientThings } from "./client-things.ts";
import type { Workspace } from "./terraform-workspace.ts";

const added = (count: number): string => `${count} added, 0 changed, 0 destroyed`;
const changed = (count: number): string => `0 added, ${count} changed, 0 destroyed`;

/** Users with and without grants, and tokens with the API family's names of scopes. */
export async function usersAndTokens(tf: Workspace, label: string): Promise<void> {
  const mail = (name: string): string => `${name}@${label}.test`;
  const resource = {
    linode_user: {
      whole: { username: `${label}-a`, email: mail("a") },
      restricted: {
        username: `${label}-b`,
        email: mail("b"),
        restricted: true,
        global_grants: { add_databases: true, add_images: true },
      },
    },
    linode_token: {
      lasting: { label: "lasting", scopes: "databases:read_write events:read_only" },
      ending: { label: "ending", scopes: "linodes:read_only", expiry: "2100-01-02T03:04:05Z" },
    },
  };
  if (!(await tf.apply("users and tokens: create", { resource }, added(4)))) return;

  const { linode_user: users, linode_token: tokens } = resource;
  const after = {
    linode_user: {
      whole: { ...users.whole, username: `${label}-c` },
      restricted: { ...users.restricted, global_grants: { add_databases: true, account_access: "read_only" } },
    },
    linode_token: { lasting: { ...tokens.lasting, label: "renamed" }, ending: tokens.ending },
  };
  await tf.apply("users and tokens: change", { resource: after }, changed(3));
  await tf.importAgain("import of a user", "linode_user.restricted", users.restricted.username);
  const { id } = await tf.attributes("linode_token.ending");
  await tf.importAgain("import of a token", "linode_token.ending", String(id));
  await tf.destroy("users and tokens: destroy", 4);
}

/** One from a file, and one from a disk. */
export async function images(tf: Workspace, { label, imageFile, machine, disk }: ClientThings): Promise<void> {
  const resource = {
    linode_image: {
      uploaded: {
        label: `${label}-file`,
        description: "By Terraform",
        region: env("MOORAGE_REGION"),
        file_path: imageFile,
        file_hash: `\${filemd5("${imageFile}")}`,
      },
      captured: { label: `${label}-disk`, description: "Captured", disk_id: disk, linode_id: machine },
    },
  };
  if (!(await tf.apply("images: upload and capture", { resource }, added(2)))) return;
  const { uploaded, captured } = resource.linode_image;
  const renamed = { uploaded: { ...uploaded, label: `${label}-new` }, captured: { ...captured, description: "Kept" } };
  await tf.apply("images: change", { resource: { linode_image: renamed } }, changed(2));
  await tf.destroy("images: destroy", 2);
}

export async function dataSources(tf: Workspace, username: string): Promise<void> {
  const region = env("MOORAGE_REGION");
  const mysql = { name: "engine", values: ["mysql"] };
  const data = {
    linode_regions: { all: {} },
    linode_region: { ours: { id: region } },
    linode_database_engines: { all: {}, latest: { latest: true, filter: mysql } },
    linode_databases: { all: {} },
    linode_account: { ours: {} },
    linode_account_settings: { ours: {} },
    linode_account_logins: { all: {} },
    linode_account_availabilities: { all: {} },
    linode_account_availability: { ours: { region } },
    linode_profile: { ours: {} },
    linode_users: { all: {} },
    linode_user: { ours: { username } },
    linode_images: { all: { latest: true } },
    linode_instance_types: { all: {} },
  };
  await tf.apply("15 data sources", { data }, added(0));
}
