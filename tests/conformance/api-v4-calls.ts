import * as published from "@linode/api-v4";

/**
 * The package's exports, without its types: these name their files without extensions, which Node's module resolution
 * does not support.
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

/** The package's API address is a constant: requests are redirected to us on their way out. */
export function pointAt(url: string): void {
  baseRequest.interceptors.request.use((config: { url: string }) => ({
    ...config,
    url: config.url.replace("https://api.linode.com", url),
  }));
}

/** The user of the next calls: the package keeps one token for all of them. */
export async function as<T>(token: string, request: () => Promise<T>): Promise<T> {
  const interceptor = setToken(token);
  try {
    return await request();
  } finally {
    baseRequest.interceptors.request.eject(interceptor);
  }
}

/** The fault of an answer that lacks an expected field. */
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
