"""Several replicas of the app behind nginx, without containers:

    python deploy/replicas.py --replicas 2 --listen 127.0.0.1:8080

It needs nginx (on Debian: apt-get install nginx-light) and nothing else. A replica that ends is started again. With
`--print` it prints nginx's configuration for replicas that something else runs, such as systemd, and starts nothing.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parent.parent
# What nginx needs around deploy/nginx.conf; it writes to one folder only.
AROUND = """
daemon off;
pid $folder/nginx.pid;
error_log stderr crit;
worker_rlimit_nofile 16384;
events { worker_connections 8192; }
http {
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    include $folder/site.conf;
}
"""


def configuration(listen: str, ports: Sequence[int], tls: Sequence[str] = ()) -> str:
    """deploy/nginx.conf for replicas on these ports of this machine.

    Args:
        listen: a port, or an address and a port.
        tls: the files with the certificate and with its key; none: plain HTTP.
    """
    servers = [f"server 127.0.0.1:{port} max_fails=1 fail_timeout=10s;" for port in ports]
    names = zip(("ssl_certificate", "ssl_certificate_key", "ssl_protocols"), (*tls, "TLSv1.2 TLSv1.3"), strict=False)
    return Template((ROOT / "deploy" / "nginx.conf").read_text("utf-8")).safe_substitute(
        LISTEN=f"{listen} ssl" if tls else listen,
        TLS=" ".join(f"{name} {value};" for name, value in names) if tls else "",
        REPLICAS="\n    ".join(servers),
    )


class Replicas:
    """The processes: one of nginx, one for each port.

    Args:
        again: whether a replica that ended is started again.
    """

    def __init__(self, ports: Sequence[int], again: bool = True) -> None:
        self.ports, self.again = ports, again
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.proxy: subprocess.Popen[bytes] | None = None

    def start(self, port: int) -> None:
        """Start the replica on a port."""
        environment = {**os.environ, "HOST": "127.0.0.1", "PORT": str(port)}
        self.running[port] = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
        )
        say(f"Replica on port {port}, process {self.running[port].pid}")

    def serve(self, address: str, site: str, folder: Path) -> None:
        """Start all and look after them until nginx ends.

        Args:
            address: to say when all are there.
            site: the `configuration` for them.
            folder: for nginx to write to.

        Raises:
            FileNotFoundError: there is no nginx.
        """
        if (nginx := shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")) is None:
            raise FileNotFoundError("nginx was not found; on Debian and Ubuntu: apt-get install nginx-light")
        folder.chmod(0o711)  # nginx's workers are another user where it is started by root
        (folder / "site.conf").write_text(site, "utf-8")
        (folder / "nginx.conf").write_text(Template(AROUND).substitute(folder=folder), "utf-8")
        for port in self.ports:
            self.start(port)
        for port in self.ports:
            self.wait_until_healthy(port)
        self.proxy = subprocess.Popen([nginx, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"])
        say(f"Serving on {address}")
        while self.proxy.poll() is None:
            time.sleep(0.5)
            self.look_after()

    def wait_until_healthy(self, port: int) -> None:
        """Until the replica answers, or ended."""
        while self.running[port].poll() is None and not healthy(port):
            time.sleep(0.2)

    def look_after(self) -> None:
        """Start again what ended."""
        for port, process in list(self.running.items()):
            if process.poll() is None:
                continue
            say(f"Replica on port {port} ended with {process.returncode}")
            del self.running[port]
            if self.again:
                self.start(port)

    def stop(self) -> None:
        """End all for good, nginx first, so that nobody is sent to a replica that is ending."""
        self.again = False
        for process in filter(None, (self.proxy, *self.running.values())):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def healthy(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--replicas", type=int, default=os.cpu_count() or 2, help="how many; as many as there are cores"
    )
    parser.add_argument("--listen", default="127.0.0.1:8080", help="address and port, such as 0.0.0.0:80")
    parser.add_argument(
        "--first-port", type=int, default=8501, help="of the replicas, which take the ones after it too"
    )
    parser.add_argument("--tls", nargs=2, default=(), metavar=("CERTIFICATE", "KEY"), help="files in PEM format")
    parser.add_argument("--once", action="store_true", help="do not start a replica again that ended")
    parser.add_argument("--print", action="store_true", help="print nginx's configuration, and start nothing")
    given = parser.parse_args()
    ports = range(given.first_port, given.first_port + given.replicas)
    site = configuration(given.listen, ports, [str(Path(file).resolve()) for file in given.tls])
    if given.print:
        say(site)
        return
    if given.listen.rpartition(":")[0] not in ("127.0.0.1", "localhost", "[::1]"):
        os.environ.setdefault("TFCORE_HOSTS", "*")  # others reach it by names that are not known here
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    replicas = Replicas(ports, again=not given.once)
    with tempfile.TemporaryDirectory() as folder:
        try:
            replicas.serve(f"http{'s' if given.tls else ''}://{given.listen}", site, Path(folder))
        except (FileNotFoundError, KeyboardInterrupt) as problem:
            sys.exit(str(problem))
        finally:
            replicas.stop()


if __name__ == "__main__":
    main()
