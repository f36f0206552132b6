// The `Alert` header, by which the service warns clients of what is going away.

/** JSON on one line, visible ASCII only. */
export function formatAlert(code: 'soft-eol' | 'hard-eol', message: string, url: string): string {
  return JSON.stringify({ code, message, url }).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
