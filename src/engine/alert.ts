// The `Alert` header, which warns clients of features that will be removed.

/** Returns the header value: JSON on one line in visible ASCII. */
export function formatAlert(code: 'soft-eol' | 'hard-eol', message: string, url: string): string {
  return JSON.stringify({ code, message, url }).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
