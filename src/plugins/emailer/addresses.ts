// E-mail addresses that mails may go to and come from. Stricter than the standards: nothing is let through by which a
// text could become two addresses, a group of them, or another header.

/** What stands on either side of the `@`, beyond letters and digits. */
const localPart = /^[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64}$/u;
const domain = /^[\p{L}\p{M}\p{N}.-]{1,253}$/u;

/**
 * `Zoe <zoe@example.org>`; a name in quotes may have more characters in it. No two repetitions can take the same
 * characters, so that long texts take no longer.
 */
const namedMailbox = /^(?:([^<>@,;:"\\()[\]\p{Cc}\p{Zl}\p{Zp}]*)|"([^"\\\p{Cc}\p{Zl}\p{Zp}]*)" *)<([^<>]*)>$/u;

const maxNameChars = 200;

/** Whether this is an address alone, `zoe@example.org`. */
export function isAddress(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 0 || !localPart.test(text.slice(0, at))) return false;
  const host = text.slice(at + 1);
  return domain.test(host) && host.split('.').every((label) => label !== '' && !label.startsWith('-'));
}

/** Whether this is an address, with a name or without. */
export function isMailbox(text: string): boolean {
  if (isAddress(text)) return true;
  if (text.length > maxNameChars + 320) return false;
  const [, plain, quoted, address = ''] = namedMailbox.exec(text) ?? [];
  return (plain ?? quoted ?? '').length <= maxNameChars && isAddress(address);
}

/** The address in it, by which two are the same. */
export function addressOf(mailbox: string): string {
  return (/<([^<>]*)>$/.exec(mailbox)?.[1] ?? mailbox).toLowerCase();
}
