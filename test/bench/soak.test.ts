// A soak for some seconds: it gets the answers it expects and looks at everything. Whether the server is steady cannot be
// seen in so short a time; that a series which grows is noticed is shown with series that were made up.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatVerdicts, verdictsOf } from '../../bench/soak/report.mjs';
import { series } from '../../bench/soak/samples.mjs';
import { judge, slope } from '../../bench/soak/steadiness.mjs';

const program = fileURLToPath(new URL('../../bench/soak/run.mjs', import.meta.url));

describe('a series of samples', () => {
  const allowance = { amount: 5, share: 0.1 };
  const everyTenSeconds = (values: readonly number[]): { seconds: number; value: number }[] =>
    values.map((value, n) => ({ seconds: n * 10, value }));

  it('is flat when it only wavers, and after it has filled what there is to fill.', () => {
    const samples = fc.tuple(
      fc.array(fc.double({ min: 0, max: 4.9, noNaN: true }), { minLength: 12, maxLength: 200 }),
      fc.double({ min: -80, max: 0, noNaN: true }),
    );
    fc.assert(
      fc.property(samples, ([noise, before]) => {
        const values = noise.map((each, n) => 100 + each + (n < noise.length / 4 ? before : 0));
        expect(judge(everyTenSeconds(values), allowance).isFlat).toBe(true);
      }),
    );
  });

  it('is not flat when it leaks steadily, whatever a few wild samples say.', () => {
    const inputs = fc.tuple(
      fc.integer({ min: 40, max: 200 }),
      fc.double({ min: 0.3, max: 3, noNaN: true }),
      fc.nat(39),
    );
    fc.assert(
      fc.property(inputs, ([length, leak, wild]) => {
        const values = Array.from({ length }, (_, n) => (n === wild ? 1000 : n * leak));
        const verdict = judge(everyTenSeconds(values), allowance);
        expect(verdict.isFlat).toBe(false);
        expect(verdict.perHour).toBeCloseTo(leak * 360, 6);
      }),
    );
  });

  it('is not flat when it has made a step in the second half.', () => {
    const values = Array.from({ length: 60 }, (_, n) => (n < 40 ? 100 : 120));
    expect(judge(everyTenSeconds(values), allowance)).toMatchObject({ isFlat: false, quarters: [100, 100, 100, 120] });
  });

  it('is not judged when it is too short.', () => {
    expect(() => judge(everyTenSeconds([1, 2, 3]), allowance)).toThrow('3 samples are too few to judge');
  });

  it('has the slope of its points when they are on a line.', () => {
    expect(slope(everyTenSeconds([1, 2, 3, 4]))).toBeCloseTo(0.1, 9);
  });

  it('is distinguished from the others in the report.', () => {
    const samples = Array.from({ length: 24 }, (_, n) => ({
      seconds: n * 10,
      residentMiB: 100,
      descriptors: 20 + n * 3,
    }));
    const table = formatVerdicts(verdictsOf(samples)).filter((line) => line.includes('**no**'));
    expect(table).toEqual([expect.stringContaining(series['descriptors']!.name)]);
  });
});

describe('times', () => {
  const slower = (starved: number): readonly { seconds: number; answerP99: number; starved: number }[] =>
    Array.from({ length: 24 }, (_, n) => ({ seconds: n * 10, answerP99: 20 + n * 20, starved }));
  const verdict = (starved: number): unknown =>
    verdictsOf(slower(starved)).find(({ name }) => name === series['answerP99']!.name);

  it('are judged where the server had a processor, and not where other programs had them.', () => {
    expect(verdict(1)).toMatchObject({ isFlat: false, isJudged: true });
    expect(verdict(40)).toMatchObject({ isFlat: false, isJudged: false });
  });
});

describe('a soak', () => {
  it('gets what it expects on every backend, and looks at memory, descriptors, files, the log and connections.', async () => {
    const args = ['--minutes', '0.05', '--rate', '300', '--clients', '4', '--backend', 'sqlite,postgresql'];
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [output, complaints, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    // Whatever still grows in the first seconds.
    expect([0, 1], complaints).toContain(code);
    const reports = output.split('## ').slice(1);
    expect(reports.map((report) => report.split(',')[0])).toEqual(['sqlite', 'postgresql']);
    for (const report of reports) expect(report).toMatch(/ 0 not as expected; 2\d samples/);
    const named = (report: string | undefined): readonly string[] =>
      Object.entries(series).flatMap(([key, { name }]) => (report?.includes(`| ${name} |`) === true ? [key] : []));
    const onLinux = process.platform === 'linux' ? ['descriptors', 'threads'] : [];
    const common = ['residentMiB', 'heapMiB', 'resources', ...onLinux, 'dataMiB', 'files'];
    expect(named(reports[0])).toEqual(expect.arrayContaining([...common, 'walMiB']));
    expect(named(reports[1])).toEqual(expect.arrayContaining([...common, 'connections']));
  });

  it('refuses what it does not understand.', async () => {
    const child = spawn(process.execPath, [program, '--backend', 'paper'], { stdio: ['ignore', 'ignore', 'pipe'] });
    const [complaints, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(code).toBe(2);
    expect(complaints).toContain('Usage: npm run soak');
  });
});
