import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  adminUrl,
  authUrl,
  databaseUrl,
  dnsApiKey,
  imageServerUrl,
  dnsApiUrl,
  docsUrl,
  imageBucket,
  imageStores,
  loopback,
  ports,
  prometheusUrl,
  publicUrl,
  region,
  s3Bucket,
  s3Keys,
  s3Url,
  secondRegion,
} from "./addresses.ts";
import { clients } from "./clients.ts";
import { keyFile, operatorToken } from "./keys.ts";
import { enginesDir, inStack, mailDir, partsDir, stackDir, stackName } from "./paths.ts";
import type { Seed } from "./seed.ts";
import type { Compute } from "./seed-compute.ts";

export const envFile = inStack("env");

/** Everything that a person or a test needs to use the stack. */
export const stackEnv = (seed: Seed & { compute: Compute }, hostCount: number): Record<string, string> => ({
  MOORAGE_URL: publicUrl,
  MOORAGE_AUTH_URL: authUrl,
  MOORAGE_DOCS_URL: docsUrl,
  MOORAGE_USERNAME: seed.owner.username,
  MOORAGE_PASSWORD: seed.owner.password,
  MOORAGE_TOKEN: seed.tokens.owner,
  MOORAGE_RESTRICTED_TOKEN: seed.tokens.restricted,
  MOORAGE_OTHER_TOKEN: seed.tokens.other,
  MOORAGE_REGION: region,
  MOORAGE_SECOND_REGION: secondRegion,
  MOORAGE_TYPE: seed.plan,
  MOORAGE_ENGINE: seed.engine,
  MOORAGE_IMAGE: seed.image,
  MOORAGE_MYSQL: join(enginesDir, "mysql", "mysql-client"),
  MOORAGE_CLIENT_A: clients.a.namespace,
  MOORAGE_CLIENT_A_ADDR: clients.a.address,
  MOORAGE_CLIENT_A_ADDR6: clients.a.address6,
  MOORAGE_CLIENT_B: clients.b.namespace,
  MOORAGE_CLIENT_B_ADDR: clients.b.address,
  MOORAGE_CLIENT_B_ADDR6: clients.b.address6,
  MOORAGE_ADMIN_URL: adminUrl,
  MOORAGE_OPERATOR_TOKEN: operatorToken(),
  MOORAGE_OPERATOR_KEY: keyFile.operatorPrivate,
  MOORAGE_IMAGE_SERVER_URL: imageServerUrl,
  MOORAGE_COMPUTE: String(seed.compute.id),
  MOORAGE_DISK: String(seed.compute.disk),
  MOORAGE_SWAP_DISK: String(seed.compute.swap),
  MOORAGE_DISK_FILE: seed.compute.device,
  MOORAGE_HOSTS: String(hostCount),
  MOORAGE_STACK: stackName,
  MOORAGE_STACK_DIR: stackDir,
  MOORAGE_MAIL_DIR: mailDir,
  MOORAGE_PARTS: partsDir,
  DATABASE_URL: databaseUrl,
  TEMPORAL_ADDRESS: loopback(ports.temporal),
  TEMPORAL_NAMESPACE: "moorage",
  VALKEY_URL: `redis://${loopback(ports.valkey)}`,
  S3_URL: s3Url,
  S3_ACCESS_KEY: s3Keys.access,
  S3_SECRET_KEY: s3Keys.secret,
  S3_BUCKET: s3Bucket,
  S3_WEST_URL: imageStores.west.url,
  S3_IMAGE_BUCKET: imageBucket,
  PDNS_URL: dnsApiUrl,
  PDNS_KEY: dnsApiKey,
  PROMETHEUS_URL: prometheusUrl,
});

export function writeEnvFile(seed: Seed & { compute: Compute }, hostCount: number): Promise<void> {
  const lines = Object.entries(stackEnv(seed, hostCount)).map(([name, value]) => `export ${name}='${value}'\n`);
  return writeFile(envFile, lines.join(""), { mode: 0o600 });
}
