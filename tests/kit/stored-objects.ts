import { ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { env } from "./stack-env.ts";

/** Every object of the archive, read from the store itself. */
export async function storedObjects(): Promise<string[]> {
  const client = new S3Client({
    endpoint: env("S3_URL"),
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: env("S3_ACCESS_KEY"), secretAccessKey: env("S3_SECRET_KEY") },
  });
  const names: string[] = [];
  for (let token: string | undefined; ; ) {
    const { Contents = [], NextContinuationToken } = await client.send(
      new ListObjectsV2Command({
        Bucket: env("S3_BUCKET"),
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
    );
    names.push(...Contents.flatMap(({ Key }) => Key ?? []));
    if (NextContinuationToken === undefined) return names;
    token = NextContinuationToken;
  }
}
