// The container files, as far as they can be judged without an engine: what the image is made of, what it may do, and that
// names in them are known. That the image works is tested in test/process.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { environmentName } from '../../src/settings/definition.ts';
import { loadAllBuiltIn } from '../../src/app/built-in-plugins.ts';
import { builtInBackends } from '../../src/backends/built-in-backends.ts';
import { coreSettings, tablesOfBackends } from '../../src/settings/table.ts';
import { at, entriesOf, parseYaml, type Yaml } from '../support/compose.ts';
import { createFilter, listContext } from '../support/docker-ignore.ts';
import { findExecForm, parseDockerfile, parsePairs, type Stage } from '../support/dockerfile.ts';
import { projectRoot } from './source-tree.ts';

const read = (name: string): string => readFileSync(path.join(projectRoot, name), 'utf8');

const composeFiles = ['docker-compose.yml', 'docker-compose.postgres.yml'] as const;
const stages = parseDockerfile(read('Dockerfile'));
const service = stages.at(-1)!;
const compose = composeFiles.map((name) => parseYaml(read(name)));
const services = compose.flatMap((file) => entriesOf(at(file, 'services')));

/** Whole services, not the parts that the second file adds to one of the first. */
const wholeServices = services.filter(([, description]) => at(description, 'image') !== undefined);

const secretName = /password|secret|token|credential|_key$/i;
const tables: readonly object[] = [
  coreSettings,
  ...tablesOfBackends(builtInBackends),
  ...(await loadAllBuiltIn()).map(({ settings }) => settings ?? {}),
];
const settingNames = new Set(tables.flatMap(Object.keys).map((key) => environmentName(key, 'SVC_')));

function textsOf(stage: Stage, keyword: string): readonly string[] {
  return stage.instructions.filter((instruction) => instruction.keyword === keyword).map(({ text }) => text);
}

function list(value: Yaml): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The assignments of an example file, those behind a comment sign too. */
const examples = new Map(
  [...read('.env.example').matchAll(/^#?([A-Z][A-Z\d_]*)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
);

describe('The Dockerfile', () => {
  it('starts every stage from the slim image of one LTS version of Node that the package accepts.', () => {
    const oldest = Number(/"node": ">=(\d+)/.exec(read('package.json'))?.[1]);
    const majors = stages.map(({ base }) => Number(/^node:(\d+)-bookworm-slim$/.exec(base)?.[1]));
    expect(new Set(majors).size).toBe(1);
    const [major = 0] = majors;
    expect(major).toBeGreaterThanOrEqual(oldest);
    // Until version 26 only even versions became LTS versions, since then all of them do.
    expect(major % 2 === 0 || major > 26).toBe(true);
    expect(read('docs/guides/containers.md')).toContain(`\`node:${major}-bookworm-slim\``);
  });

  it('runs as a user without rights, named by numbers so that orchestrators can check it.', () => {
    expect(textsOf(service, 'USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    const keywords = service.instructions.map(({ keyword }) => keyword);
    expect(keywords.slice(keywords.indexOf('USER') + 1).filter((keyword) => /RUN|COPY|WORKDIR/.test(keyword))).toEqual(
      [],
    );
  });

  it('starts programs without a shell in between, which would keep signals from them.', () => {
    const health = textsOf(service, 'HEALTHCHECK')[0]?.replace(/^CMD /, '');
    for (const text of [...textsOf(service, 'ENTRYPOINT'), ...textsOf(service, 'CMD'), health]) {
      expect(findExecForm(text ?? '')).toBeDefined();
    }
  });

  it('copies only existing files that the ignore file accepts, or files of an earlier stage.', () => {
    const isIn = createFilter(read('.dockerignore'));
    const context = listContext(projectRoot, read('.dockerignore'));
    const wrong = stages.flatMap((stage, index) =>
      stage.instructions
        .filter(({ keyword }) => keyword === 'COPY')
        .flatMap(({ flags, text }) => {
          const from = flags.get('from');
          const earlier = stages.slice(0, index).some(({ name }) => name === from);
          const sources = text.split(' ').slice(0, -1);
          if (from !== undefined) return earlier ? [] : [`no stage ${from}`];
          return sources.filter(
            (source) => !isIn(source) || !context.some((file) => file === source || file.startsWith(`${source}/`)),
          );
        }),
    );
    expect(wrong).toEqual([]);
  });

  it('copies all that the console is built from.', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'coffer-build-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const text of textsOf(stages[0]!, 'COPY')) {
      const [target = '', ...sources] = text.split(' ').toReversed();
      for (const source of sources) {
        const from = path.join(projectRoot, source);
        const isFolder = target.endsWith('/') || !statSync(from).isDirectory();
        cpSync(from, path.join(folder, target, isFolder ? path.basename(source) : ''), { recursive: true });
      }
    }
    symlinkSync(path.join(projectRoot, 'node_modules'), path.join(folder, 'node_modules'));
    const { status, stderr } = spawnSync(process.execPath, ['scripts/build-console.mjs'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
    expect(existsSync(path.join(folder, 'admin', 'dist', 'index.html'))).toBe(true);
  });

  it('has no secrets, fetches nothing but packages, and takes what was locked.', () => {
    const instructions = stages.flatMap((stage) => stage.instructions);
    expect(instructions.filter(({ keyword }) => keyword === 'ADD')).toEqual([]);
    const runs = instructions.filter(({ keyword }) => keyword === 'RUN').map(({ text }) => text);
    expect(runs.filter((text) => /curl|wget|apt|npm (?:i|install)\b|npx|--mount=type=secret/.test(text))).toEqual([]);
    const names = instructions
      .filter(({ keyword }) => keyword === 'ENV' || keyword === 'ARG')
      .flatMap(({ text }) => [...parsePairs(text).keys()]);
    expect(names.filter((name) => secretName.test(name))).toEqual([]);
    expect(names.filter((name) => name.startsWith('SVC_') && !settingNames.has(name))).toEqual([]);
  });
});

describe('The context of the image', () => {
  it('accepts only the sources of the service, whatever the checkout contains.', () => {
    const isIn = createFilter(read('.dockerignore'));
    for (const name of [
      '.env',
      '.git/config',
      '.npmrc',
      'coffer.ini',
      'config/coffer.ini',
      'data/secret',
      'data/coffer.sqlite3',
      'dist/index.js',
      'node_modules/pg/package.json',
      'test/tsconfig.json',
    ]) {
      expect([name, isIn(name)]).toEqual([name, false]);
    }
    expect(isIn('src/index.ts')).toBe(true);
    const found = new Set(listContext(projectRoot, read('.dockerignore')).map((name) => name.split('/')[0]));
    const folders = ['admin', 'assets', 'bin', 'scripts', 'src'];
    const files = ['LICENSE', 'package-lock.json', 'package.json', 'tsconfig.base.json', 'tsconfig.json'];
    expect(found).toEqual(new Set([...folders, ...files]));
  });
});

describe('The Compose files', () => {
  it('give every service a read-only file system, no capabilities, no new privileges, limits and bounded logs.', () => {
    expect(wholeServices.map(([name]) => name)).toEqual(['coffer', 'migrate', 'postgres']);
    for (const [name, description] of wholeServices) {
      expect([name, at(description, 'read_only')]).toEqual([name, 'true']);
      expect([name, at(description, 'cap_drop')]).toEqual([name, ['ALL']]);
      expect([name, at(description, 'cap_add')]).toEqual([name, undefined]);
      expect([name, at(description, 'privileged')]).toEqual([name, undefined]);
      expect([name, at(description, 'security_opt')]).toEqual([name, ['no-new-privileges:true']]);
      expect([name, at(description, 'user')]).toEqual([
        name,
        expect.stringMatching(/^(?:[1-9]\d*:[1-9]\d*|postgres)$/),
      ]);
      expect([name, at(description, 'deploy', 'resources', 'limits')]).toEqual([
        name,
        { memory: expect.stringMatching(/^\d+[MG]$/), pids: expect.stringMatching(/^\d+$/) },
      ]);
      expect([name, at(description, 'restart')]).toEqual([name, name === 'migrate' ? 'no' : 'unless-stopped']);
      expect([name, at(description, 'logging', 'options', 'max-size')]).toEqual([name, '10m']);
    }
  });

  it('run Coffer as the user of the image, with its volume, and give it time to stop.', () => {
    for (const [, description] of wholeServices.filter(([name]) => name !== 'postgres')) {
      expect(at(description, 'user')).toBe(textsOf(service, 'USER')[0]);
      expect(at(description, 'volumes')).toEqual(['data:/data']);
      expect(at(description, 'build')).toBe('.');
    }
    const grace = at(compose[0], 'services', 'coffer', 'stop_grace_period');
    expect(grace).toMatch(/^\d+s$/);
    expect(Number.parseInt(grace as string, 10)).toBeGreaterThan(coreSettings.shutdown_timeout_seconds.default);
  });

  it('publish one port, on this machine only unless told otherwise.', () => {
    const published = services.flatMap(([, description]) => list(at(description, 'ports')));
    expect(published).toEqual([expect.stringMatching(/^\$\{\w+:-127\.0\.0\.1\}:\$\{\w+:-8888\}:8888$/)]);
  });

  it('name only services, volumes and networks that are declared.', () => {
    const declared = (kind: string): readonly string[] =>
      compose.flatMap((file) => entriesOf(at(file, kind)).map(([name]) => name));
    for (const [, description] of services) {
      const volumes = list(at(description, 'volumes')).map((volume) => volume.split(':')[0]);
      expect(declared('volumes')).toEqual(expect.arrayContaining(volumes));
      expect(['default', ...declared('networks')]).toEqual(
        expect.arrayContaining([...list(at(description, 'networks'))]),
      );
      const needed = entriesOf(at(description, 'depends_on')).map(([name]) => name);
      expect(declared('services')).toEqual(expect.arrayContaining(needed));
    }
  });

  it('set only settings that there are, and no secret by its value.', () => {
    for (const [, description] of services) {
      for (const [name, value] of entriesOf(at(description, 'environment'))) {
        if (name.startsWith('SVC_')) expect(settingNames).toContain(name);
        if (secretName.test(name)) expect(value).toMatch(/^\$\{\w+:\?[^}]+\}$/);
      }
    }
  });

  it('start with nothing but their defaults when PostgreSQL is not asked for.', () => {
    const variables = [...read('docker-compose.yml').matchAll(/\$\{([^}]*)\}/g)].map(([, text = '']) => text);
    expect(variables.filter((text) => !text.includes(':-'))).toEqual([]);
    expect(at(compose[0], 'services', 'coffer', 'env_file')).toEqual([{ path: '.env', required: 'false' }]);
  });
});

const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;

describe.skipIf(!hasCompose)('The Compose files, where Docker Compose is installed,', () => {
  it.each([['docker-compose.yml'], [...composeFiles]])('are accepted by its own parser.', (...files) => {
    const args = ['compose', ...files.flatMap((file) => ['--file', file]), 'config', '--quiet'];
    const env = { ...process.env, POSTGRES_PASSWORD: 'not used' };
    const { status, stderr } = spawnSync('docker', args, { cwd: projectRoot, env, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe('The example of .env', () => {
  it('names every variable of the Compose files, and settings that there are.', () => {
    const variables = composeFiles.flatMap((name) => [...read(name).matchAll(/\$\{(\w+)/g)].map(([, found]) => found));
    expect([...examples.keys()]).toEqual(expect.arrayContaining(variables));
    const unknown = [...examples.keys()].filter((name) => name.startsWith('SVC_') && !settingNames.has(name));
    expect(unknown).toEqual([]);
  });

  it('changes nothing as it is, holds no secret, and what is made of it stays out of the repository.', () => {
    expect(read('.env.example')).not.toMatch(/^[^#\n]/m);
    expect([...examples].filter(([name, value]) => secretName.test(name) && value !== '')).toEqual([]);
    expect(read('.gitignore').split('\n')).toContain('.env');
  });

  it('names the Compose files that there are.', () => {
    expect(examples.get('COMPOSE_FILE')?.split(':')).toEqual([...composeFiles]);
  });
});
