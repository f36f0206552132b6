// Removal of trailing slashes from texts that clients choose.

const slash = 47;

/**
 * Returns the text without slashes at its end; with `encoded`, also without percent-encoded ones. Uses a loop, because
 * `/\/+$/` takes quadratic time on runs of slashes.
 */
export function withoutSlashesAtEnd(text: string, { encoded = false } = {}): string {
  let end = text.length;
  for (;;) {
    if (text.charCodeAt(end - 1) === slash) end--;
    else if (encoded && text.slice(Math.max(0, end - 3), end).toLowerCase() === '%2f') end -= 3;
    else return text.slice(0, end);
  }
}
