import { mandatory, type SettingsOf } from "@moorage/contract/settings";
import { z } from "zod";
import { Listen, PositiveInteger, SharedKey, WebUrl } from "#platform/settings.ts";

/** Of the process that issues addresses. */
export const imageLinkSettings = {
  MOORAGE_IMAGE_SERVER_URL: WebUrl.optional()
    .describe(
      "Where hypervisors reach `image-server`; without it and the key, `api` issues no addresses for downloads.",
    )
    .meta({ https: true, needs: ["MOORAGE_IMAGE_SERVER_KEY"] }),
  MOORAGE_IMAGE_SERVER_KEY: SharedKey.optional()
    .describe(
      "The key that signs addresses for downloads, at least 32 characters, shared by `api` and `image-server`. A new key invalidates all addresses.",
    )
    .meta({ secret: true, needs: ["MOORAGE_IMAGE_SERVER_URL"] }),
};

/** Undefined: the API issues no addresses for image downloads. */
export const imageServerAddressOf = ({
  MOORAGE_IMAGE_SERVER_URL: url,
  MOORAGE_IMAGE_SERVER_KEY: key,
}: SettingsOf<typeof imageLinkSettings>) => (url === undefined || key === undefined ? undefined : { url, key });

export const imageServerSettings = {
  MOORAGE_IMAGE_SERVER_LISTEN: Listen.prefault("127.0.0.1:18103").describe("Where `image-server` listens."),
  MOORAGE_IMAGE_SERVER_METRICS_LISTEN: Listen.prefault("127.0.0.1:18104").describe(
    "Where `image-server` serves metrics, which are not public.",
  ),
  MOORAGE_IMAGE_SERVER_KEY: mandatory(imageLinkSettings.MOORAGE_IMAGE_SERVER_KEY),
  MOORAGE_IMAGE_SERVER_REGION: z
    .string()
    .optional()
    .describe("The region of this `image-server`: it reads from that region's store first."),
  MOORAGE_IMAGE_SERVER_STREAMS: PositiveInteger.default(8).describe(
    "How many images are sent at once, each with about 40 MB of memory; others are answered 503.",
  ),
};
