import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { findIdGenerator } from '../../../src/core/objects/ids.ts';

describe('id generators', () => {
  it.each(['UUID4', 'NameGenerator', 'RelaxedUUID', 'AccountIdGenerator'])('%s accepts its own ids', (name) => {
    const generator = findIdGenerator(name)!;
    const ids = new Set(Array.from({ length: 500 }, () => generator.generate()));
    expect(ids.size).toBe(500);
    for (const id of ids) expect(generator.match(id)).toBe(true);
  });

  it('finds a generator by the dotted path of Kinto', () => {
    expect(findIdGenerator('kinto.core.storage.generators.UUID4')).toBe(findIdGenerator('UUID4'));
    expect(findIdGenerator('kinto.views.RelaxedUUID')).toBe(findIdGenerator('RelaxedUUID'));
    expect(findIdGenerator('constructor')).toBeUndefined();
    expect(findIdGenerator('')).toBeUndefined();
  });

  it.each(['UUID4', 'RelaxedUUID'])(
    '%s generates version 4 UUIDs that begin with the time and ascend with it',
    (name) => {
      const { generate } = findIdGenerator(name)!;
      onTestFinished(() => {
        vi.useRealTimers();
      });
      const ids = [0, 1, 0xfff, 0x1000, 1_700_000_000_000, 1_700_000_000_001].map((time) => {
        vi.useFakeTimers({ now: time });
        return generate();
      });
      expect(ids).toEqual(ids.toSorted());
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(ids[4]).toMatch(/^018bcfe5-6800-/);
      const ofOneMillisecond = Array.from({ length: 500 }, () => generate().slice(14));
      expect(new Set(ofOneMillisecond).size).toBe(500);
    },
  );

  it('generates short names that start with a letter or a digit', () => {
    const generator = findIdGenerator('NameGenerator')!;
    const names = Array.from({ length: 2000 }, () => generator.generate());
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9_-]{7}$/);
    expect(new Set(names.join('')).size).toBe(64);
  });

  it('accepts any version of UUID in lower case only', () => {
    const { match } = findIdGenerator('UUID4')!;
    expect(match('00000000-0000-1000-0000-00000000000f')).toBe(true);
    expect(match('00000000-0000-1000-0000-00000000000F')).toBe(false);
    expect(match('00000000-0000-1000-0000-00000000000f\n')).toBe(false);
  });

  it('accepts names that start with a letter or a digit and nothing around them', () => {
    const { match } = findIdGenerator('RelaxedUUID')!;
    for (const id of ['a', 'A-_9', '0']) expect(match(id)).toBe(true);
    for (const id of ['', '-a', '_a', 'a.b', 'a\n', '\na', 'a b', 'é', 'a/b', '__proto__'])
      expect(match(id)).toBe(false);
  });

  it('accepts the characters of mail addresses in account ids', () => {
    const { match } = findIdGenerator('AccountIdGenerator')!;
    expect(match('zoe+x@acme.example')).toBe(true);
    expect(match('@zoe')).toBe(false);
    expect(match('zoe\n')).toBe(false);
  });
});
