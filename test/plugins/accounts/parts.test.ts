// Parts of the accounts plugin: hashes, groups of addresses, templates.
import { hash as hashBcrypt } from 'bcryptjs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressGroup, networkOf, partyOf } from '../../../src/http/address-group.ts';
import { fillTemplate } from '../../../src/base/template.ts';
import { placeholdersOf } from '../../../src/plugins/accounts/mail-template.ts';
import { matchesBcrypt } from '../../../src/plugins/accounts/bcrypt-hash.ts';
import { createPasswords, maxPasswordChars } from '../../../src/plugins/accounts/passwords.ts';
import {
  hashWithScrypt,
  matchesScrypt,
  maxHashCost,
  unmatchableHash,
} from '../../../src/plugins/accounts/scrypt-hash.ts';
import { countTurns } from '../../support/turns.ts';

const end = '$c2FsdHNhbHQ$aaaaaaaaaaaaaaaaaaaaaaaa';

describe('hashes of passwords', () => {
  it('a hash matches only its password and is different each time.', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string(), async (password, other) => {
        const hash = await hashWithScrypt(password, 10);
        expect(hash).toMatch(/^\$scrypt\$ln=10,r=8,p=3\$/);
        expect(await matchesScrypt(password, hash)).toBe(true);
        if (other.normalize('NFC') !== password.normalize('NFC')) expect(await matchesScrypt(other, hash)).toBe(false);
        expect(await hashWithScrypt(password, 10)).not.toBe(hash);
      }),
      { numRuns: 10 },
    );
  });

  it('equivalent Unicode sequences are equal.', async () => {
    expect(await matchesScrypt('e\u0301', await hashWithScrypt('\u00e9', 10))).toBe(true);
  });

  it('a hash with another cost is verified at that cost.', async () => {
    expect(await matchesScrypt('x', await hashWithScrypt('x', 11))).toBe(true);
  });

  it('texts in other forms are not hashes.', async () => {
    for (const text of ['', '$scrypt$', '$2b$04$x']) expect(await matchesScrypt('x', text)).toBeUndefined();
    expect(await matchesScrypt('x', unmatchableHash(10))).toBe(false);
  });

  it.each(['ln=15,r=8,p=1', 'ln=14,r=8,p=5', 'ln=13,r=8,p=10', 'ln=12,r=32,p=2', 'ln=1,r=8,p=99'])(
    'a hash of another program with %s is checked.',
    async (parameters) => {
      expect(await matchesScrypt('x', `$scrypt$${parameters}${end}`)).toBe(false);
    },
  );

  it.each([
    ['much memory', 'ln=19,r=8,p=1'],
    ['much memory in large blocks', 'ln=18,r=9,p=1'],
    ['much work', 'ln=18,r=8,p=4'],
    ['much work in small blocks', 'ln=15,r=2,p=97'],
    ['an impossible size', 'ln=99,r=8,p=1'],
    ['more iterations than its block size allows', 'ln=16,r=1,p=1'],
    ['zero', 'ln=0,r=8,p=1'],
    ['zero blocks', 'ln=10,r=0,p=1'],
    ['zero lanes', 'ln=10,r=8,p=0'],
  ])('a scrypt hash with %s matches no password and is not computed.', async (_what, parameters) => {
    expect(await matchesScrypt('x', `$scrypt$${parameters}${end}`)).toBeUndefined();
  });

  it('a hash at the maximum cost of new hashes is checked.', async () => {
    expect(await matchesScrypt('x', unmatchableHash(maxHashCost))).toBe(false);
  });

  it('a bcrypt hash is checked up to its maximum cost.', async () => {
    const hash = await hashBcrypt('right', 4);
    expect(await matchesBcrypt('right', hash)).toBe(true);
    expect(await matchesBcrypt('wrong', hash)).toBe(false);
    expect(await matchesBcrypt('x', `$2b$14$${'a'.repeat(53)}`)).toBe(false);
    for (const cost of ['03', '15', '16', '31']) {
      expect(await matchesBcrypt('x', `$2b$${cost}$${'a'.repeat(53)}`)).toBeUndefined();
    }
  });

  it('a bcrypt hash is of the first 72 bytes of a password, whatever its length.', async () => {
    for (const start of [
      'y'.repeat(72),
      '\u00e9'.repeat(36),
      `${'y'.repeat(68)}\u{1f511}`,
      `${'y'.repeat(71)}\u{1f511}`,
    ]) {
      const hash = await hashBcrypt(`${start}end`, 4);
      expect(await matchesBcrypt(`${start}end`, hash)).toBe(true);
      expect(await matchesBcrypt(`x${start}`, hash)).toBe(false);
      expect(await matchesBcrypt(start + 'y'.repeat(3_000_000), hash)).toBe(true);
    }
  });

  it('a password that is too long matches nothing.', async () => {
    const { matches } = createPasswords({ cost: 10, atOnce: 1, waiting: 1 });
    const client = { address: undefined };
    for (const hash of [hashWithScrypt, (password: string) => hashBcrypt(password, 4)]) {
      const [longest, tooLong] = [maxPasswordChars, maxPasswordChars + 1].map((length) => 'y'.repeat(length));
      expect(await matches(longest!, await hash(longest!, 10), client)).toBe(true);
      expect(await matches(tooLong!, await hash(tooLong!, 10), client)).toBe(false);
    }
  });

  it('a password with a null character matches nothing.', async () => {
    const { matches } = createPasswords({ cost: 10, atOnce: 1, waiting: 1 });
    const client = { address: undefined };
    for (const hash of [await hashWithScrypt('right', 10), await hashBcrypt('right', 4)]) {
      expect(await matches('right', hash, client)).toBe(true);
      for (const password of ['right\0', 'right\0\0', 'right\0wrong'])
        expect(await matches(password, hash, client)).toBe(false);
    }
  });

  it('the event loop is free while a bcrypt hash is checked.', async () => {
    const { turns } = await countTurns(matchesBcrypt('x', `$2b$10$${'a'.repeat(53)}`));
    expect(turns).toBeGreaterThan(20);
  });
});

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:0DB8:0:0:1:2:3:4', '2001:db8:0:0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['64:ff9b::192.0.2.33', '192.0.2.33'],
  ['64:ff9b::c000:221', '192.0.2.33'],
  ['64:ff9b:1::c000:221', '64:ff9b:1:0'],
  ['::ffff:c000:0201', '192.0.2.1'],
  ['0:0:0:0:0:FFFF:192.0.2.1', '192.0.2.1'],
  ['::192.0.2.1', '0:0:0:0'],
  ['', ''],
])('the address %s is in the group %s.', (address, group) => {
  expect(addressGroup(address)).toBe(group);
});

it('the addresses that one client can have are of one network.', () => {
  expect(networkOf('192.0.2.1')).toBe('192.0.2.1');
  expect(networkOf('2001:db8:77::1')).toBe('2001:db8:77');
  expect(networkOf('2001:db8:77:ffff::1')).toBe('2001:db8:77');
  expect(networkOf('2001:db8:78::1')).toBe('2001:db8:78');
  expect(partyOf('basicauth:a', '2001:db8:77:ffff::1')).toBe('2001:db8:77 2001:db8:77:ffff basicauth:a');
});

describe('templates of mails', () => {
  const placeholders = placeholdersOf(
    {
      password: 'hash',
      name: 'Zoe',
      age: 3,
      'email-context': { name: 'Z.', 'activation-key': 'forged', id: 'forged' },
    },
    { 'activation-key': 'k', id: 'zoe@example.org' },
  );

  it.each([
    ['Dear {name}, {age}: {activation-key}', 'Dear Z., 3: k'],
    ['{id} {unknown} {password} {} { x', 'zoe@example.org {unknown} {password} {} { x'],
    ['{constructor} {__proto__}', '{constructor} {__proto__}'],
  ])('%j becomes %j.', (template, text) => {
    expect(fillTemplate(template, placeholders)).toBe(text);
  });

  it('values are not expanded again.', () => {
    expect(fillTemplate('{a}', placeholdersOf({ a: '{b}', b: 'no' }, {}))).toBe('{b}');
  });
});
