// JSON Pointer (RFC 6901): the paths of JSON Patch.

const strayTilde = /~(?![01])/;

/** Returns the decoded tokens of a pointer below the root; `undefined` for the root itself and for other texts. */
export function parsePointer(text: string): readonly string[] | undefined {
  if (!text.startsWith('/') || strayTilde.test(text)) return undefined;
  const tokens = text.slice(1).split('/');
  return text.includes('~') ? tokens.map(decodeToken) : tokens;
}

/** `~1` is decoded before `~0`, so that `~01` becomes `~1`. */
function decodeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Returns the pointer with these tokens. */
export function formatPointer(tokens: readonly string[]): string {
  return tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

const arrayIndex = /^(?:0|[1-9]\d{0,14})$/;

/** Returns the array index of a token, whatever the length of the array. */
export function parseArrayIndex(token: string): number | undefined {
  return arrayIndex.test(token) ? Number(token) : undefined;
}
