from kafnets.rl.policies import DQNPolicy as DQNPolicy
from kafnets.rl.policies import MlpPolicy as MlpPolicy
from kafnets.rl.policies import SACPolicy as SACPolicy
from kafnets.rl.policies import TD3Policy as TD3Policy
