// Validation of e-mail addresses. Stricter than the standards: no accepted text can become two addresses, an address
// group or another header.

const localPart = /^[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64}$/u;
const domain = /^[\p{L}\p{M}\p{N}.-]{1,253}$/u;

/**
 * `Zoe <zoe@example.org>`. A quoted name may contain more characters. No two repetitions match the same characters, so
 * matching takes linear time.
 */
const namedMailbox = /^(?:([^<>@,;:"\\()[\]\p{Cc}\p{Zl}\p{Zp}]*)|"([^"\\\p{Cc}\p{Zl}\p{Zp}]*)" *)<([^<>]*)>$/u;

const maxNameChars = 200;

/** Returns whether the text is an address without a name, such as `zoe@example.org`. */
export function isAddress(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 0 || !localPart.test(text.slice(0, at))) return false;
  const host = text.slice(at + 1);
  return domain.test(host) && host.split('.').every((label) => label !== '' && !label.startsWith('-'));
}

/** Returns whether the text is an address with or without a name. */
export function isMailbox(text: string): boolean {
  if (isAddress(text)) return true;
  if (text.length > maxNameChars + 320) return false;
  const [, plain, quoted, address = ''] = namedMailbox.exec(text) ?? [];
  return (plain ?? quoted ?? '').length <= maxNameChars && isAddress(address);
}

/** Returns the address in lower case, without the name, for comparisons. */
export function addressOf(mailbox: string): string {
  return (/<([^<>]*)>$/.exec(mailbox)?.[1] ?? mailbox).toLowerCase();
}
