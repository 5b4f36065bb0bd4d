import type { Reply } from "./world.ts";

/** The refusal of something that does not exist, as if it had been requested by another name. */
export const refusalOf = ({ body }: Reply, absent: string | number, name: string | number): unknown =>
  JSON.parse(JSON.stringify(body).replaceAll(String(absent), String(name)));
