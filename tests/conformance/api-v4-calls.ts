import * as published from "@linode/api-v4";

/**
 * What the package exports, without its types: these name their files without extensions, which Node's own rules for
 * modules do not resolve.
 */
export const calls = published as Answer;
type Answer = ReturnType<typeof JSON.parse>;

/** `Checks["check"]` for answers without types. */
export type Check = (
  name: string,
  request: () => Promise<Answer>,
  wrong?: (answer: Answer) => string | undefined,
) => Promise<Answer>;

const { baseRequest, setToken } = calls;

/** Its address is a constant of its own: requests are turned to us on their way out. */
export function pointAt(url: string): void {
  baseRequest.interceptors.request.use((config: { url: string }) => ({
    ...config,
    url: config.url.replace("https://api.linode.com", url),
  }));
}

/** By whom the next calls are made: the package keeps one token for all of them. */
export async function as<T>(token: string, request: () => Promise<T>): Promise<T> {
  const interceptor = setToken(token);
  try {
    return await request();
  } finally {
    baseRequest.interceptors.request.eject(interceptor);
  }
}

/** What is wrong with an answer that does not have what it should. */
export const unless =
  (holds: (answer: Answer) => boolean) =>
  (answer: Answer): string | undefined =>
    holds(answer) ? undefined : JSON.stringify(answer).slice(0, 500);

/** The API refuses with this status, and the package passes that on. */
export const refusedWith = (status: number, request: () => Promise<unknown>) => async (): Promise<void> => {
  const found = await request().then(
    () => 200,
    (error: { response?: { status?: number } }) => error.response?.status,
  );
  if (found !== status) throw new Error(`${found} instead of ${status}`);
};
