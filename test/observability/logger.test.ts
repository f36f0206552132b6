// What log lines look like, and what never stands in them.
import { describe, expect, test } from 'vitest';
import { createLogger, type LoggerSettings } from '../../src/observability/logger.ts';

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
  // Nanoseconds exceed the precision of doubles, so they are compared as text.
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
  'Lines of the format %s contain no credentials, even when code logs them.',
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

describe('On a terminal a request is one line', () => {
  const request = { method: 'GET', path: '/v1/buckets', code: 200, errno: 0, t: 18, rid: 'abc', agent: 'x' };
  const linesFor = (fields: object, settings: Partial<LoggerSettings> = {}): string[] =>
    linesOf({ format: 'pretty', ...settings }, (logger) => logger.info(fields, 'request.summary'));

  test('with method, path, status and caller.', () => {
    expect(linesFor(request)).toEqual(['GET /v1/buckets 200 18ms -\n']);
    expect(linesFor({ ...request, querystring: '_sort=a', uid: 'basicauth:12' })).toEqual([
      'GET /v1/buckets?_sort=a 200 18ms basicauth:12\n',
    ]);
  });

  test('with the number of batch entries, and the process when several run.', () => {
    expect(linesFor({ ...request, batch_size: 3 }, { showsPid: true })).toEqual([
      `GET /v1/buckets 200 18ms - (3 requests, process ${process.pid})\n`,
    ]);
  });

  test('without characters that control a terminal or hide text on it.', () => {
    const [line] = linesFor({ ...request, path: '/v1/\u001B[2J\u009B\u202E', uid: 'openid:a\nGET /' });
    expect(line).toBe('GET /v1/\\u{1b}[2J\\u{9b}\\u{202e} 200 18ms openid:a\\u{a}GET /\n');
  });

  test('of a bounded length.', () => {
    expect(linesFor({ ...request, path: `/v1/${'x'.repeat(5000)}` })[0]).toHaveLength(
      300 + 'GET … 200 18ms -\n'.length,
    );
    expect(linesFor({ ...request, uid: 'x'.repeat(5000) })[0]).toHaveLength(
      200 + 'GET /v1/buckets 200 18ms …\n'.length,
    );
  });

  test('and its details have lines at the level debug only.', () => {
    const use = (logger: ReturnType<typeof createLogger>): void => {
      logger.info(request, 'subrequest.summary');
      logger.info({ perm: 'read' }, 'Permission refused');
      logger.info('Stopping');
    };
    expect(linesOf({ format: 'pretty' }, use)).toEqual([expect.stringContaining('Stopping')]);
    expect(linesOf({ format: 'pretty', level: 'debug' }, use)).toHaveLength(3);
  });
});

test('Readable lines contain the message and the fields.', () => {
  const text = linesOf({ format: 'pretty' }, (logger) => logger.warn({ setting: 'eos' }, 'Take care')).join('');
  expect(text).toContain('Take care');
  expect(text).toContain('eos');
  expect(text).toContain('WARN');
});

test('Readable lines never contain characters that control a terminal or hide text on it.', () => {
  const evil = 'a\u001B[2J\u009B31m\u202E\rb';
  const error = Object.assign(new Error(`Failed: ${evil}\nforged`), { detail: { [evil]: [evil] } });
  const text = linesOf({ format: 'pretty', level: 'debug' }, (logger) => {
    logger.error({ err: error, [evil]: evil }, `Failed ${evil}\nforged`);
    logger.info({ uri: evil }, 'Permission refused');
  }).join('');
  expect(text).toContain('Failed a\\u{1b}[2J\\u{9b}31m');
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{C}/u);
  expect(text).not.toMatch(/^forged/m);
});
