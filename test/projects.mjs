// What runs where: a project is a folder below test/, with all test files in it.

/** Files of such projects run beside each other. */
const together = (folder, cpuSeconds) => ({ folder, isAlone: false, cpuSeconds });

/** One file after the other, when all else is done: what judges time, and what alone keeps a machine busy. */
const alone = (folder) => ({ folder, isAlone: true });

/** `npm test`. Everything may run beside everything: no test judges how long something takes. */
export const TESTS = [
  together("proofs/sized", 140),
  together("browser", 70),
  together("cli", 50),
  together("contract", 100),
  together("crash", 40),
  together("e2e", 60),
  together("integration", 200),
  together("security", 50),
  together("simulation", 35),
  together("unit", 105),
];

/** RabbitMQ, Azurite and Chromium, which all of these share: no test file sees what they take. */
export const SERVICES = { name: "services", cpuSeconds: 240 };

/** `npm run proofs`, and the long forms. */
export const PROOFS = [together("proofs/sized"), together("proofs/heavy"), alone("proofs/timed")];

/** `npm run proofs:n8n`, which says where n8n is. */
export const WITH_N8N = [alone("proofs/n8n")];

/** `npm run test:quick`: what needs neither a service nor a tool. */
export const QUICK = { folders: ["unit", "contract"], without: "contract/queues" };
