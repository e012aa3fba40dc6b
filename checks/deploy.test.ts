// What stands in deploy/ fits the service: names, ports, paths and metrics. What needs Docker, Kubernetes or Grafana is not run
// here; deploy/README.md says so.
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../packages/server/src/config/read-config.ts';
import { variableOf } from '../packages/server/src/config/settings.ts';
import { readEnvoyDirectory } from '../packages/server/src/envoy/read-envoy-directory.ts';
import { metricCatalogue } from '../packages/server/src/operations/metric-catalogue.ts';
import { type MetricSources, serviceMetrics } from '../packages/server/src/operations/metrics.ts';
import { parsePrometheusText } from '../packages/server/src/operations/prometheus-text.test-support.ts';
import { read, root, runCommand } from './repository.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-deploy-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function configOf(path: string | undefined, environment: Record<string, string> = {}) {
  const result = readConfig({ path, environment });
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

const defaults = configOf(undefined);
const defaultPorts = [defaults.listen.http?.port, defaults.listen.grpc?.port, defaults.listen.resp?.port];

describe('Dockerfile', () => {
  const lines = read('deploy/Dockerfile').replaceAll(/\\\n/g, ' ').split('\n');
  const instructions = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => [line.split(' ')[0] ?? '', line.slice(line.indexOf(' ') + 1).trim()] as const);
  const all = (name: string) => instructions.filter(([word]) => word === name).map(([, rest]) => rest);
  const copies = all('COPY').map((rest) => rest.split(/\s+/));
  const fromBuild = copies.filter(([first]) => first === '--from=build').map((words) => words.slice(1));
  const finalStage = instructions.slice(instructions.map(([word]) => word).lastIndexOf('FROM'));

  test('copies what exists, and what the build makes', () => {
    const fromContext = copies.filter(([first]) => !first?.startsWith('--from='));
    expect(fromContext.length).toBeGreaterThan(0);
    for (const paths of fromContext) {
      for (const path of paths.slice(0, -1)) expect([path, existsSync(join(root, path))]).toEqual([path, true]);
    }
    for (const [from = '', to] of fromBuild) {
      expect(to).toBe(from.replace('/build/', ''));
      expect([from, existsSync(join(root, from.replace('/build/', '')))]).toEqual([from, true]);
    }
  });

  test('copies all that the program needs', () => {
    const image = join(folder, 'image');
    for (const [, to = ''] of fromBuild.filter(([from]) => from !== '/build/node_modules'))
      cpSync(join(root, to), join(image, to), { recursive: true });
    // As npm installs them: packages of this repository are links into it, of which only the image's own may be followed.
    const modules = join(root, 'node_modules');
    mkdirSync(join(image, 'node_modules/@sluice'), { recursive: true });
    for (const name of [
      ...readdirSync(modules),
      ...readdirSync(join(modules, '@sluice')).map((one) => `@sluice/${one}`),
    ]) {
      const link = lstatSync(join(modules, name)).isSymbolicLink() && readlinkSync(join(modules, name));
      if (name !== '@sluice') symlinkSync(link || join(modules, name), join(image, 'node_modules', name));
    }
    const command = instructions.flatMap(
      ([, rest]) => rest.match(/ln -s \/opt\/sluice\/(\S+) \/usr\/local\/bin\/sluice/)?.[1] ?? [],
    );
    const sluice = (...args: string[]) => runCommand(join(image, command.join()), args, folder);
    expect(sluice('--help').output).toContain('Usage: sluice');
    expect(sluice('simulate', 'fixed-window-passes').status).toBe(0);
    expect(sluice('serve', '--help').status).toBe(0);
    const site = join(image, 'packages/studio/site/index.html');
    expect(existsSync(site)).toBe(true);
  });

  test('leaves nothing out that it copies', () => {
    const kept = read('deploy/Dockerfile.dockerignore').split('\n').filter((line) => line.startsWith('!')); // biome-ignore format: a list
    const context = all('COPY').filter((rest) => !rest.startsWith('--from=')).flatMap((rest) => rest.split(/\s+/).slice(0, -1)); // biome-ignore format: a list
    for (const path of context) expect(kept).toContain(`!${path}`);
  });

  test('builds with commands that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect(all('RUN').join('\n')).toContain('npm run build');
    expect(scripts.build).toBeDefined();
  });

  test('runs as somebody without rights, on the Node that the package wants', () => {
    expect(finalStage.find(([word]) => word === 'USER')?.[1]).toBe('node');
    expect(all('FROM').map((image) => image.split(' ')[0])).toEqual(['node:20-slim', 'node:20-slim']);
  });

  test('exposes the ports of the service and asks one of them how it is', () => {
    expect(all('EXPOSE').join(' ').split(' ').map(Number)).toEqual(defaultPorts);
    expect(all('HEALTHCHECK').join()).toContain(`http://127.0.0.1:${defaults.listen.http?.port}/healthz`);
  });

  test('listens where the outside can reach it, by settings that exist', () => {
    const environment = Object.fromEntries(
      all('ENV').filter((line) => line.startsWith('SLUICE_')).map((line) => line.split('=') as [string, string]), // biome-ignore format: a list
    );
    expect(configOf(undefined, environment).listen.http).toEqual({ host: '0.0.0.0', port: 8080 });
  });
});

describe('sluice.service', () => {
  const unit = read('deploy/sluice.service');
  const values = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value);

  test('is a unit that systemd understands', () => {
    const rows = unit.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(rows.filter((line) => !/^(\[(Unit|Service|Install)\]|[A-Z][A-Za-z]+=.*)$/.test(line))).toEqual([]);
    if (runCommand('systemd-analyze', ['--version']).status !== 0) return; // No systemd here; the form was checked above.
    // The program must exist for systemd to be content; the command is not installed here, Node is.
    const copy = join(folder, 'sluice.service');
    writeFileSync(copy, unit.replace('/usr/local/bin/sluice', process.execPath));
    const { status, output } = runCommand('systemd-analyze', ['verify', copy]);
    expect(output.split('\n').filter((line) => line.includes('sluice.service'))).toEqual([]);
    expect(status).toBe(0);
  });

  test('starts, reloads and ends the service as it wants to be', () => {
    expect(values('ExecStart')).toEqual(['/usr/local/bin/sluice serve --config /etc/sluice/sluice.yaml']);
    expect(values('ExecReload')).toEqual(['/bin/kill -HUP $MAINPID']);
    expect(values('KillSignal')).toEqual(['SIGTERM']);
    expect(Number(values('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(defaults.drainMs);
    expect(Number(values('LimitNOFILE')[0])).toBeGreaterThan(4 * defaults.limits.connections);
    expect(values('DynamicUser')).toEqual(['yes']);
    expect(values('StateDirectory')).toEqual(['sluice']);
    // V8 writes code and runs it: with this the process would not even start.
    expect(values('MemoryDenyWriteExecute')).toEqual([]);
  });

  test('names settings that exist', () => {
    const named = [...unit.matchAll(/\bSLUICE_[A-Z_]+/g)].map(([name]) => name);
    expect(named).toEqual([variableOf('security.token'), variableOf('store.url')]);
  });
});

describe('kubernetes.yaml', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a manifest has no type here; the test is about what it says.
  const documents: any[] = parseAllDocuments(read('deploy/kubernetes.yaml')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
  const one = (kind: string, name = 'sluice') =>
    documents.find((document) => document.kind === kind && document.metadata.name === name);
  const pod = one('Deployment').spec.template.spec;
  const [container] = pod.containers;

  test('holds what it says', () => {
    expect(documents.map(({ kind }) => kind)).toEqual([
      'ConfigMap',
      'ConfigMap',
      'Deployment',
      'Service',
      'PodDisruptionBudget',
    ]);
  });

  test('every selector finds the pods', () => {
    const { labels } = one('Deployment').spec.template.metadata;
    const selectors = [
      one('Deployment').spec.selector.matchLabels,
      one('Service').spec.selector,
      one('PodDisruptionBudget').spec.selector.matchLabels,
      pod.topologySpreadConstraints[0].labelSelector.matchLabels,
    ];
    for (const selector of selectors) expect(labels).toMatchObject(selector);
  });

  test('ports are those of the service', () => {
    const ports = container.ports.map(({ containerPort }: { containerPort: number }) => containerPort);
    expect(ports).toEqual(defaultPorts);
    const named = container.ports.map(({ name }: { name: string }) => name);
    const { ports: served } = one('Service').spec;
    expect(served.map(({ port }: { port: number }) => port)).toEqual(defaultPorts);
    expect(served.map(({ targetPort }: { targetPort: string }) => targetPort)).toEqual(named);
    expect(one('Deployment').spec.template.metadata.annotations['prometheus.io/port']).toBe('8080');
  });

  test('probes ask for health and readiness', () => {
    expect(container.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'http' });
    expect(container.startupProbe.httpGet).toEqual({ path: '/healthz', port: 'http' });
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' });
  });

  test('the grace period is longer than what it waits for', () => {
    const [, seconds] = container.lifecycle.preStop.exec.command;
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(Number(seconds) * 1000 + defaults.drainMs);
  });

  test('every folder that is mounted is a ConfigMap that is there', () => {
    for (const { name, configMap } of pod.volumes) {
      expect([name, one('ConfigMap', configMap.name) !== undefined]).toEqual([name, true]);
    }
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name);
    expect(mounted).toEqual(pod.volumes.map(({ name }: { name: string }) => name));
  });

  test('one replica may go while another stays', () => {
    expect(one('Deployment').spec.replicas).toBeGreaterThan(one('PodDisruptionBudget').spec.minAvailable);
  });

  describe('its configuration', () => {
    const directory = join(folder, 'kubernetes');
    beforeAll(() => {
      for (const { name, configMap } of pod.volumes) {
        mkdirSync(join(directory, name), { recursive: true });
        const { data } = one('ConfigMap', configMap.name);
        for (const [file, text] of Object.entries(data)) writeFileSync(join(directory, name, file), text as string);
      }
    });

    test('is valid, and is the one that the command line names', () => {
      const { mountPath } = container.volumeMounts[0];
      const file = container.args[container.args.indexOf('--config') + 1];
      expect(file).toBe(`${mountPath}/sluice.yaml`);
      const { directory: envoyPath } = parse(one('ConfigMap').data['sluice.yaml']).envoy;
      expect(envoyPath).toBe(container.volumeMounts[1].mountPath);
      // The folder is elsewhere in the test than in the pod.
      const config = configOf(join(directory, 'config', basename(file)), {
        [variableOf('envoy.directory')]: join(directory, 'envoy'),
      });
      expect(config.listen.http).toEqual({ host: '0.0.0.0', port: 8080 });
      expect(config.store).toMatchObject({ type: 'redis', onFailure: 'closed' });
      expect(config.rules.map(({ name }) => name)).toEqual(['per-ip', 'per-user']);
      // Not as many as the machine has cores: that many need not fit into the memory that the pod may take.
      expect(parse(one('ConfigMap').data['sluice.yaml']).workers).toBe(2);
    });

    test('loads its Envoy file, which has the limits of the example', () => {
      const { limits } = readEnvoyDirectory(join(directory, 'envoy'), { mergeDomains: false });
      const example = readEnvoyDirectory(join(root, 'examples/envoy/limits'), { mergeDomains: false });
      const places = (list: typeof limits) => list.map(({ domain, descriptor }) => [domain, descriptor]);
      expect(places(limits)).toEqual(places(example.limits));
      expect(limits.length).toBe(2);
    });
  });
});

describe('grafana-dashboard.json', () => {
  interface Panel {
    id: number;
    type: string;
    title: string;
    gridPos: { h: number; w: number; x: number; y: number };
    targets?: { refId: string; expr: string; datasource: { uid: string } }[];
  }
  const board = JSON.parse(read('deploy/grafana-dashboard.json')) as {
    schemaVersion: number;
    uid: string;
    panels: Panel[];
    templating: { list: { name: string; definition?: string }[] };
  };
  const targets = board.panels.flatMap((panel) => panel.targets ?? []);
  const expressions = [
    ...targets.map(({ expr }) => expr),
    ...board.templating.list.map(({ definition = '' }) => definition),
  ];

  test('asks for metrics and labels that the service has', async () => {
    const nothing: MetricSources = {
      rules: [],
      checks: [],
      doors: {},
      store: { type: 'memory', keys: 0, evictedLiveKeys: 0, errors: 0, degraded: 0 },
      cluster: {
        ...{
          id: '',
          ownedShards: 0,
          standbyShards: 0,
          keys: 0,
          rightForMs: 0,
          takenOver: 0,
          handedOver: 0,
          promoted: 0,
        },
        ...{ forwarded: 0, quarantineRefusals: 0, durableKeys: 0, durableWrites: 0 },
      },
      envoy: [],
      reloads: { succeeded: 0, failed: 0, lastSuccessMs: 0 },
    };
    const families = parsePrometheusText(await serviceMetrics('test').text(nothing));
    const exists = (name: string) =>
      families.has(name) || families.get(name.replace(/_(bucket|sum|count)$/, ''))?.type === 'histogram';
    const asked = expressions.flatMap((expr) => expr.match(/\b(sluice|process|nodejs)_\w+/g) ?? []);
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.filter((name) => !exists(name))).toEqual([]);
    // Prometheus itself adds the first two.
    const known = ['instance', 'le', ...Object.values(metricCatalogue).flatMap(({ labels }): string[] => [...labels])];
    const labels = expressions.flatMap((expr) => [
      ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
      ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label),
    ]);
    expect(labels.filter((label) => !known.includes(label))).toEqual([]);
  });

  test('shows every metric of the service', () => {
    const unseen = Object.keys(metricCatalogue).filter((name) => !expressions.some((expr) => expr.includes(name)));
    expect(unseen).toEqual([]);
  });

  test('rates counters, and nothing else', () => {
    for (const [name, { type }] of Object.entries(metricCatalogue)) {
      for (const { expr } of targets.filter((target) => target.expr.includes(`${name}{`))) {
        expect([expr, /(rate|increase)\(/.test(expr)]).toEqual([expr, type !== 'gauge']);
      }
    }
  });

  test('is a dashboard that Grafana can draw: whole expressions, no panel over another', () => {
    expect(board.schemaVersion).toBe(39);
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
    for (const { expr, datasource } of targets) {
      expect(datasource.uid).toBe('${' + 'datasource}');
      for (const pair of ['()', '{}', '[]']) {
        expect([expr, expr.split(pair[0]!).length]).toEqual([expr, expr.split(pair[1]!).length]);
      }
    }
    const cells = new Set<string>();
    for (const { title, gridPos } of board.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect([title, cells.has(`${x} ${y}`)]).toEqual([title, false]);
          cells.add(`${x} ${y}`);
        }
      }
    }
    expect(board.templating.list.map(({ name }) => name)).toEqual(['datasource', 'instance']);
  });
});
