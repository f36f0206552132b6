// What a record with a generated id is called, because people do not recognize a UUID.
import { displayText, membersOf } from './json-text.ts';

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const maxLength = 80;
/** Attributes that name a record, wherever they are in it. */
const names = ['title', 'name', 'label'];

export function isGenerated(id: string): boolean {
  return uuid.test(id);
}

/** Returns a short text of a record that names it: its title, or else its first one; `undefined` without one. */
export function titleOf(data: string): string | undefined {
  const texts = membersOf(data)
    .filter(({ key, text }) => key !== 'id' && text.startsWith('"') && text.length <= maxLength * 6)
    .map(({ key, text }) => ({ key, value: displayText(text).trim() }))
    .filter(({ value }) => value !== '' && value.length <= maxLength && !/[\r\n]/.test(value) && !isGenerated(value));
  return (texts.find(({ key }) => names.includes(key)) ?? texts[0])?.value;
}
