// The metrics of a service with very many series are a long text, which takes long to make. It is made once a second at most,
// because anyone who reaches the endpoint may ask for it. Shorter texts are always new.

/** Length of a text, in characters, that is used again. */
const longChars = 100_000;
/** Time for which it is used, in milliseconds. */
const reusedMs = 1000;

/**
 * Returns a function that makes a text, or returns the last one when it is long and was made lately.
 *
 * @param now returns the milliseconds since a fixed moment
 */
export function reuseLong(
  make: () => Promise<string>,
  now: () => number = () => performance.now(),
): () => Promise<string> {
  let long: { readonly text: Promise<string>; readonly until: number } | undefined;
  return async () => {
    if (long !== undefined && now() < long.until) return long.text;
    const text = make();
    // The next one is probably as long, so all requests wait for it together.
    if (long !== undefined) long = { text, until: Infinity };
    let made: string | undefined;
    try {
      made = await text;
      return made;
    } finally {
      long = made === undefined || made.length < longChars ? undefined : { text, until: now() + reusedMs };
    }
  };
}
