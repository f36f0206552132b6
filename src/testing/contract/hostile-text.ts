// Texts that a backend may mistake for others: storable ones that it must distinguish, and ones that no backend can store.
import assert from 'node:assert/strict';
import { UnstorableText } from '../../contracts/errors.ts';

/** Storable texts. Several differ only in characters that a backend may fold, trim, unescape or read as a pattern. */
export const oddTexts: readonly string[] = [
  'plain',
  'PLAIN',
  'plain ',
  ' plain',
  'plai',
  'plain%',
  'plain_',
  'plain*',
  'plain?',
  '%',
  '_',
  '*',
  '[a-z]',
  '^plain$',
  "plain'",
  'plain"',
  'plain`',
  String.raw`plain\ `,
  String.raw`plain\0`,
  String.raw`\u0000`,
  'plain%00',
  'plain%2500',
  'plain\u0001',
  'plain\t',
  'plain\n',
  'plain\r\n',
  'plain\u001f',
  'plain\u007f',
  'plain\u0085',
  'plain\u2028',
  'plаin',
  'plain\u0301',
  'é',
  'e\u0301',
  '\ufeffplain',
  'plain\ufeff',
  'plain\u200b',
  'plain\ufffd',
  'plain\uffff',
  '{plain}',
  'plain|a',
  'plain}',
  "'; DROP TABLE objects; --",
  '$1',
  '?1',
  ':a',
  'null',
  '0',
  '-1',
  '1e1',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'x'.repeat(600),
  'x'.repeat(601),
  '😀'.repeat(500),
];

/** Texts that cannot be stored, each with the texts that it becomes when it is cut or replaced. */
export const unstorableTexts: readonly string[] = [
  'plain\0',
  '\0plain',
  '\0',
  'plain\0more',
  'plain\ud800',
  '\udc00plain',
  'plain\ud800\ud800',
];

/** Returns the texts for which a text that cannot be stored may be mistaken. */
export const lookalikes: readonly string[] = [
  'plain',
  'plain\ufffd',
  'plain\uffff',
  '\ufffdplain',
  '',
  'more',
  'plain\ufffd\ufffd',
];

/** A storable text that does not occur anywhere. */
const nowhere = 'nowhere';

/** Requires a call to refuse every text that cannot be stored. */
export async function requireRefusal(call: (text: string) => Promise<unknown>): Promise<void> {
  for (const text of unstorableTexts) {
    await assert.rejects(
      async () => call(text),
      (error) => error instanceof UnstorableText,
      JSON.stringify(text),
    );
  }
}

/** Requires a call to refuse every text that cannot be stored, or to treat it as a text that does not occur. */
export async function requireNothing(call: (text: string) => Promise<unknown>): Promise<void> {
  const expected = await call(nowhere);
  for (const text of unstorableTexts) {
    let found: unknown;
    try {
      found = await call(text);
    } catch (error) {
      if (error instanceof UnstorableText) continue;
      throw error;
    }
    assert.deepEqual(found, expected, JSON.stringify(text));
  }
}
