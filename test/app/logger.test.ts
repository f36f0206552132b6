// What log lines look like, and what never stands in them.
import { expect, test } from 'vitest';
import { createLogger, type LoggerSettings } from '../../src/app/logger.ts';

function linesOf(settings: Partial<LoggerSettings>, use: (logger: ReturnType<typeof createLogger>) => void): string[] {
  const lines: string[] = [];
  use(createLogger({ level: 'info', format: 'json', name: 'svc', ...settings }, { write: (line) => lines.push(line) }));
  return lines;
}

test('JSON lines follow the MozLog layout.', () => {
  const [line = ''] = linesOf({}, (logger) => logger.info({ path: '/v1/', code: 200 }, 'request.summary'));
  const parsed: unknown = JSON.parse(line);
  expect(parsed).toMatchObject({
    Type: 'request.summary',
    Logger: 'svc',
    EnvVersion: '2.0',
    Severity: 6,
    Pid: process.pid,
    Fields: { path: '/v1/', code: 200 },
  });
  expect(parsed).toHaveProperty('Hostname');
  // Nanoseconds, beyond what a double can tell apart, so they are looked at as text.
  expect(line).toMatch(/"Timestamp":\d{19}[,}]/);
});

test('Errors keep their message and their stack.', () => {
  const [line = ''] = linesOf({}, (logger) => logger.error({ err: new Error('boo') }, 'Failed'));
  expect(JSON.parse(line)).toMatchObject({
    Severity: 3,
    Fields: { err: { message: 'boo', stack: expect.any(String) } },
  });
});

test('Lines below the level are left out.', () => {
  const use = (logger: ReturnType<typeof createLogger>): void => {
    logger.debug('one');
    logger.info('two');
    logger.warn('three');
    logger.error('four');
  };
  const types = (level: LoggerSettings['level']): unknown[] =>
    linesOf({ level }, use).map((line) => (JSON.parse(line) as { Type: string }).Type);
  expect(types('debug')).toEqual(['one', 'two', 'three', 'four']);
  expect(types('warn')).toEqual(['three', 'four']);
  expect(types('silent')).toEqual([]);
});

test.each(['json', 'pretty'] as const)(
  'Credentials are not in lines of the format %s, even when somebody logs them.',
  (format) => {
    const secret = 'hunter2';
    const headers = { authorization: secret, cookie: secret, accept: 'visible' };
    const text = linesOf({ format }, (logger) => {
      logger.info({ headers, password: secret, secret, authorization: secret }, 'one');
      logger.info({ req: { headers }, request: { headers } }, 'two');
    }).join('');
    expect(text).toContain('visible');
    expect(text).not.toContain(secret);
  },
);

test('Readable lines hold the sentence and the fields.', () => {
  const text = linesOf({ format: 'pretty' }, (logger) => logger.warn({ setting: 'eos' }, 'Take care')).join('');
  expect(text).toContain('Take care');
  expect(text).toContain('eos');
  expect(text).toContain('WARN');
});
