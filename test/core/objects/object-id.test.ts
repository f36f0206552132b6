// The one way from text to an object id, for built-in generators and for lenient ones from outside.
import { describe, expect, it } from 'vitest';
import { findIdGenerator } from '../../../src/core/objects/ids.ts';
import { createIdRule, isSafeId } from '../../../src/core/objects/object-id.ts';

const lenient = { generate: () => 'made', match: () => true };
const unsafe = ['', '.', '..', 'a/b', 'a*', '*', 'a\0', '\0', 'a\nb', '\u007f', '\u0085', 'a\ud800', '\udc00a'];
const odd = ['a b', 'é', 'е', '%00', 'a%', '_', '...', '__proto__', '😀', '"', '\\', "'"];

describe('id rules', () => {
  it.each(unsafe)('refuse %j whatever the generator accepts', (text) => {
    expect(createIdRule('lenient', lenient, 0).parse(text)).toBeUndefined();
    expect(isSafeId(text)).toBe(false);
  });

  it.each(odd)('leave %j to the generator', (text) => {
    expect(createIdRule('lenient', lenient, 0).parse(text)).toBe(text);
  });

  it.each(['UUID4', 'NameGenerator', 'RelaxedUUID', 'AccountIdGenerator'])(
    'of %s refuse every unsafe character by the form alone',
    (name) => {
      const generator = findIdGenerator(name)!;
      const rule = createIdRule(name, generator, 0);
      for (const text of unsafe) expect(rule.parse(text)).toBeUndefined();
      for (let code = 0; code < 0x10000; code++) {
        const text = `a${String.fromCharCode(code)}`;
        if (!isSafeId(text)) expect(generator.match(text), `U+${code.toString(16)}`).toBe(false);
      }
    },
  );

  it('count characters against the maximum length', () => {
    const rule = createIdRule('NameGenerator', findIdGenerator('NameGenerator')!, 8);
    expect(rule.parse('12345678')).toBe('12345678');
    expect(rule.parse('123456789')).toBeUndefined();
    expect(rule.form).toContain('at most 8 characters');
  });

  it('cannot be created from a generator whose own ids are refused', () => {
    expect(() => createIdRule('odd', { generate: () => 'x', match: () => false }, 0)).toThrow(/odd/);
    expect(() => createIdRule('slashed', { generate: () => 'a/b', match: () => true }, 0)).toThrow(/slashed/);
    expect(() => createIdRule('UUID4', findIdGenerator('UUID4')!, 35)).toThrow(/max_id_length/);
  });
});
