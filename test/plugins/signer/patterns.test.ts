// Settings with regular expressions in their names.
import { describe, expect, it } from 'vitest';
import { SignerOptions } from '../../../src/plugins/signer/options.ts';
import { isPattern, requirePatterns } from '../../../src/plugins/signer/patterns.ts';
import { signerFamilies, signerSettings } from '../../../src/plugins/signer/settings.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { environmentLayer, fileLayer, valuesLayer } from '../../../src/settings/layers.ts';
import { emptyReport, resolveTable } from '../../../src/settings/resolve.ts';
import { Settings } from '../../../src/settings/settings.ts';
import { coreSettings } from '../../../src/settings/table.ts';
import { readFor } from '../../../src/plugins/signer/settings.ts';
import { unreadLines } from '../../support/unread-settings.ts';

function isReviewed(lines: Readonly<Record<string, string>>, collection: string, bucket = 'work'): boolean {
  const settings = settingsOf({ userid_hmac_secret: 'x', 'signer.to_review_enabled': 'true', ...lines });
  return readFor(settings, settings.read(signerSettings), { bucket, collection }, 'to_review_enabled');
}

describe('A setting name with regular expressions', () => {
  const pattern = String.raw`signer.work.quick-(\w+)-(desktop|mobile).to_review_enabled`;

  it.each([
    ['quick-en-desktop', false],
    ['quick-fr-mobile', false],
    ['quick-en-tablet', true],
    ['quick--desktop', true],
    ['my-quick-en-desktop', true],
    // Expressions match the beginning, as in the reference implementation.
    ['quick-en-desktop-2', false],
  ])('applies to matching collections: %s is reviewed: %s.', (collection, expected) => {
    expect(isReviewed({ [pattern]: 'false' }, collection)).toBe(expected);
    expect(isReviewed({ [pattern]: 'false' }, collection, 'other')).toBe(true);
  });

  it('matches whole ids when it ends with $.', () => {
    const whole = String.raw`signer.work.quick-(\w+)$.to_review_enabled`;
    expect(isReviewed({ [whole]: 'false' }, 'quick-en')).toBe(false);
    expect(isReviewed({ [whole]: 'false' }, 'quick-en-desktop')).toBe(true);
  });

  it('can replace the bucket.', () => {
    const buckets = 'signer.(work|lab).quick.to_review_enabled';
    expect(isReviewed({ [buckets]: 'false' }, 'quick', 'lab')).toBe(false);
    expect(isReviewed({ [buckets]: 'false' }, 'quick', 'shop')).toBe(true);
  });

  it('applies if it is the last matching name in the file.', () => {
    const own = 'signer.work.quick-en-desktop.to_review_enabled';
    expect(isReviewed({ [pattern]: 'false', [own]: 'true' }, 'quick-en-desktop')).toBe(true);
    expect(isReviewed({ [own]: 'true', [pattern]: 'false' }, 'quick-en-desktop')).toBe(false);
    expect(
      isReviewed({ [pattern]: 'false', 'signer.work.(quick).to_review_enabled': 'true' }, 'quick-en-desktop'),
    ).toBe(true);
  });

  it('overrides a setting of the bucket, and is overridden by the environment and the command line.', () => {
    expect(isReviewed({ 'signer.work.to_review_enabled': 'true', [pattern]: 'false' }, 'quick-en-desktop')).toBe(false);
    const own = 'signer.work.quick-en-desktop.to_review_enabled';
    const environment = environmentLayer({ SVC_SIGNER_WORK_QUICK_EN_DESKTOP_TO_REVIEW_ENABLED: 'true' }, 'SVC_');
    for (const above of [environment, valuesLayer({ [own]: 'true' }, 'command line')]) {
      const file = fileLayer([{ key: pattern, text: 'false', from: 'coffer.ini line 3' }], emptyReport());
      const layers = [above, file];
      const values = resolveTable(layers, coreSettings, emptyReport());
      const settings = new Settings({
        layers,
        environments: [],
        values,
        tables: [],
        file: null,
        namedConfig: undefined,
        warnings: [],
        isZeroConfig: false,
      });
      const place = { bucket: 'work', collection: 'quick-en-desktop' };
      expect(readFor(settings, settings.read(signerSettings), place, 'to_review_enabled')).toBe(true);
    }
  });

  it.each(['signer.work.quick.to_review_enabled', 'signer.work.a.(b).to_review_enabled', 'signer.(a).b.allow_floats'])(
    'is not %s.',
    (name) => {
      expect(isPattern(name)).toBe(false);
    },
  );

  it('is a known setting whose value is checked with the others.', () => {
    const settings = settingsOf({ userid_hmac_secret: 'x', [pattern]: 'perhaps' });
    expect(unreadLines(settings, [signerSettings], signerFamilies)).toEqual([]);
    expect(settings.findProblems([signerSettings], signerFamilies)).toEqual([
      expect.objectContaining({ name: pattern, message: 'expected true or false' }),
    ]);
  });

  it('is refused if its regular expression is invalid or unsupported.', () => {
    for (const wrong of ['a(b', '(a)(?=b)', String.raw`(a)\1`]) {
      const name = `signer.work.${wrong}.to_review_enabled`;
      expect(() => requirePatterns([name])).toThrow(`${name} contains an unsupported regular expression`);
    }
  });

  it('is refused with dots or without parentheses, because ignoring it would disable reviews.', () => {
    for (const wrong of ['work.(.*)', String.raw`work.a-\w+`, 'work.a*', '(a|b.c).d', String.raw`(w\n)\n.a.b`]) {
      const name = `signer.${wrong}.to_review_enabled`;
      expect(() => requirePatterns([name])).toThrow(`${name} is not a valid pattern`);
    }
    expect(() => requirePatterns(['signer.to_review_enabled', 'signer.work.a-b_c.to_review_enabled'])).not.toThrow();
  });
});

describe('The older form with an underscore between the ids', () => {
  it('applies to the collection, after the form with a dot.', () => {
    expect(isReviewed({ 'signer.work_notes.to_review_enabled': 'false' }, 'notes')).toBe(false);
    expect(
      isReviewed(
        { 'signer.work.notes.to_review_enabled': 'true', 'signer.work_notes.to_review_enabled': 'false' },
        'notes',
      ),
    ).toBe(true);
  });

  it('also works for keys.', () => {
    const settings = settingsOf({
      userid_hmac_secret: 'x',
      'signer.work_notes.ecdsa.private_key': '/nowhere/key.pem',
    });
    const book = new SignerOptions(settings, settings.read(signerSettings), { now: () => 0 });
    expect(() => book.of({ bucket: 'work', collection: 'notes' })).toThrow('/nowhere/key.pem');
  });
});
